################################################################################
#
# mqonce: the tree that this external tree lies in
#
################################################################################

MQONCE_VERSION = 0.1.0
MQONCE_SITE = $(BR2_EXTERNAL_MQONCE_PATH)/../..
MQONCE_SITE_METHOD = local
MQONCE_LICENSE = MIT
MQONCE_LICENSE_FILES = LICENSE NOTICE
MQONCE_DEPENDENCIES = host-pkgconf inih mosquitto openssl sqlite xxhash

# Service files come from make install below: Buildroot's own init hooks would
# not know the sandbox.
MQONCE_ARGS = VERSION=$(MQONCE_VERSION) SYSTEM_LIBS=1 \
	PKG_CONFIG="$(PKG_CONFIG_HOST_BINARY)" \
	$(if $(BR2_INIT_SYSTEMD),SYSTEMD=1,INIT=sysv)

define MQONCE_BUILD_CMDS
	$(TARGET_MAKE_ENV) $(TARGET_CONFIGURE_OPTS) $(MAKE) -C $(@D) \
		$(MQONCE_ARGS)
endef

define MQONCE_INSTALL_TARGET_CMDS
	$(TARGET_MAKE_ENV) $(TARGET_CONFIGURE_OPTS) $(MAKE) -C $(@D) \
		$(MQONCE_ARGS) DESTDIR=$(TARGET_DIR) install
	$(if $(BR2_INIT_SYSTEMD),,ln -sf mqonce \
		$(TARGET_DIR)/etc/init.d/S60mqonce)
endef

define MQONCE_USERS
	mqonce -1 mqonce -1 * - - - idempotent MQTT consumer
endef

define MQONCE_PERMISSIONS
	/var/lib/mqonce d 700 mqonce mqonce - - - - -
endef

$(eval $(generic-package))
