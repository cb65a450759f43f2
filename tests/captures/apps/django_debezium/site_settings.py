"""Settings of the Django project whose migrations run; the server's port is the last argument of the command."""

import sys

SECRET_KEY = "not a secret: the project runs only while the capture is made"
USE_TZ = True
TIME_ZONE = "UTC"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
STATIC_URL = "/static/"
SITE_ID = 1
WAGTAIL_SITE_NAME = "capture"
WAGTAILADMIN_BASE_URL = "http://localhost"
ROOT_URLCONF = "site_settings"
urlpatterns: list[object] = []
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
MIDDLEWARE = ["allauth.account.middleware.AccountMiddleware"]
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.admin",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.sites",
    "django.contrib.flatpages",
    "django.contrib.redirects",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.mfa",
    "oauth2_provider",
    "django_celery_beat",
    "django_celery_results",
    "taggit",
    "modelcluster",
    "wagtail.embeds",
    "wagtail.sites",
    "wagtail.users",
    "wagtail.snippets",
    "wagtail.documents",
    "wagtail.images",
    "wagtail.search",
    "wagtail.admin",
    "wagtail",
]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.mysql",
        "NAME": "site",
        "HOST": "127.0.0.1",
        "PORT": int(sys.argv[-1]),
        "USER": "capture",
        "PASSWORD": "capture",
        "OPTIONS": {"charset": "utf8mb4", "init_command": "SET time_zone = '+00:00'"},
    }
}
