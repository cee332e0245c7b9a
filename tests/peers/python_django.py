# SPDX-License-Identifier: MIT
"""
A Django site with its own log-in page and the admin site; gunicorn runs it. PROXIES: how many it believes; SITE_DIR: where its
database is.
"""
import os
import sys

import django
from django.conf import settings
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponseRedirect, JsonResponse
from django.urls import path

PROXIES = int(os.environ["PROXIES"])


class ClientAddress:
    """REMOTE_ADDR as the last proxies that are believed have it. Django itself reads no X-Forwarded-For."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        addresses = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
        if len(addresses) >= PROXIES:
            request.META["REMOTE_ADDR"] = addresses[-PROXIES].strip()
        return self.get_response(request)


settings.configure(
    SECRET_KEY="for tests",
    ROOT_URLCONF=__name__,
    ALLOWED_HOSTS=["www.a.test"],
    # How an application behind a proxy is set up.
    SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https"),
    USE_X_FORWARDED_HOST=True,
    SECURE_SSL_REDIRECT=True,
    SESSION_COOKIE_SECURE=True,
    CSRF_COOKIE_SECURE=True,
    INSTALLED_APPS=["django.contrib." + name for name in ("admin", "auth", "contenttypes", "sessions", "messages")],
    MIDDLEWARE=[
        __name__ + ".ClientAddress",
        "django.middleware.security.SecurityMiddleware",
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                ]
            },
        }
    ],
    DATABASES={
        "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.path.join(os.environ["SITE_DIR"], "site.sqlite")}
    },
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    # One round: what is tested is no password.
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    STATIC_URL="/static/",
    USE_TZ=True,
)
django.setup()

from django.contrib import admin  # noqa: E402 (the settings come first)


def where(request):
    return JsonResponse(
        {
            "url": request.build_absolute_uri(),
            "secure": request.is_secure(),
            "address": request.META["REMOTE_ADDR"],
        }
    )


def old(request):
    return HttpResponseRedirect(request.build_absolute_uri("/where"))


urlpatterns = [path("where", where), path("old", old), path("admin/", admin.site.urls)]
application = get_wsgi_application()

if __name__ == "__main__":  # python_django.py: makes the database and its user
    call_command("migrate", verbosity=0)
    from django.contrib.auth.models import User

    User.objects.create_superuser("ada", "ada@a.test", sys.argv[1])
