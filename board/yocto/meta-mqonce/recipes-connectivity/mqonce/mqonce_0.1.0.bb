SUMMARY = "Idempotent MQTT consumer for edge gateways"
DESCRIPTION = "Applies each MQTT event to one local SQLite file exactly once, \
acknowledges after the commit, keeps what failed until an operator decides."
SECTION = "net"
LICENSE = "MIT"
LIC_FILES_CHKSUM = "file://LICENSE;md5=7c789ce4a541a8f177dda8532d51752b"

DEPENDS = "inih mosquitto openssl sqlite3 xxhash"

# The tree that this layer lies in.
inherit externalsrc pkgconfig systemd useradd update-rc.d
EXTERNALSRC = "${@os.path.abspath(d.getVar('THISDIR') + '/../../../../..')}"
EXTERNALSRC_BUILD = "${EXTERNALSRC}"

EXTRA_OEMAKE = "VERSION=${PV} SYSTEM_LIBS=1 BOARD= \
    UNITDIR=${systemd_system_unitdir} SYSCONFDIR=${sysconfdir} \
    ${@bb.utils.contains('DISTRO_FEATURES', 'systemd', 'SYSTEMD=1', 'INIT=sysv', d)}"

do_install() {
    oe_runmake install DESTDIR=${D}
}

USERADD_PACKAGES = "${PN}"
USERADD_PARAM:${PN} = "--system --no-create-home --home-dir /nonexistent \
    --shell /sbin/nologin --user-group mqonce"

SYSTEMD_SERVICE:${PN} = "mqonce.service"
INITSCRIPT_NAME = "mqonce"
INITSCRIPT_PARAMS = "defaults 90 10"

FILES:${PN} += "${nonarch_libdir}/sysusers.d ${nonarch_libdir}/tmpfiles.d \
    ${datadir}/bash-completion"
CONFFILES:${PN} = "${sysconfdir}/mqonce/mqonce.conf.example"
RRECOMMENDS:${PN} = "mosquitto"
