# SPDX-License-Identifier: MIT
"""A Flask application that believes as many proxies as PROXIES says; gunicorn runs it."""
import os

from flask import Flask, redirect, request, session, url_for
from werkzeug.middleware.proxy_fix import ProxyFix

app = Flask(__name__)
app.config.update(SECRET_KEY="for tests", SESSION_COOKIE_SECURE=True, SESSION_COOKIE_SAMESITE="Lax")
# The scheme, the host and the port come from the outermost proxy alone.
app.wsgi_app = ProxyFix(app.wsgi_app, x_for=int(os.environ["PROXIES"]), x_proto=1, x_host=1, x_port=1, x_prefix=1)


@app.get("/where")
def where():
    return {
        "url": request.url,
        "made": url_for("account", _external=True),
        "secure": request.is_secure,
        "address": request.remote_addr,
    }


@app.post("/login")
def login():
    if request.form["password"] != "sesame":
        return "no", 403
    session["user"] = request.form["user"]
    return redirect(url_for("account", _external=True))


@app.get("/account")
def account():
    if "user" not in session:
        return redirect(url_for("login", _external=True))
    return "Hello " + session["user"]
