# Read by Buildroot with BR2_EXTERNAL=.../board/buildroot.
include $(sort $(wildcard $(BR2_EXTERNAL_MQONCE_PATH)/package/*/*.mk))
