/* SPDX-License-Identifier: MIT */
/*
 * The site that the demo origin serves: constants only. The page comes first, then the assets in
 * the order in which they are promised.
 */
#include "proxy/tool/demo.h"

// clang-format off

static const char page[] =
    "<!doctype html>\n"
    "<html lang=\"en\">\n"
    "<head>\n"
    "<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>pushgate demo</title>\n"
    "<link rel=\"icon\" href=\"/logo.svg\" type=\"image/svg+xml\">\n"
    "<link rel=\"stylesheet\" href=\"/base.css\">\n"
    "<link rel=\"stylesheet\" href=\"/page.css\">\n"
    "<script src=\"/timing.js\" defer></script>\n"
    "<script src=\"/greet.js\" defer></script>\n"
    "</head>\n"
    "<body>\n"
    "<header>\n"
    "<img src=\"/logo.svg\" alt=\"\" width=\"72\" height=\"72\">\n"
    "<h1>It came through the gate</h1>\n"
    "<p class=\"lead\">The origin promises every asset below together with this page. A client\n"
    "that takes pushes has them all at once. Browsers refuse pushes and ask; what was held is there.</p>\n"
    "</header>\n"
    "<main>\n"
    "<section class=\"card\">\n"
    "<h2>How each asset arrived</h2>\n"
    "<p>Measured by this browser, which asked for each of them. See the same page pushed with\n"
    "<code>pushgate fetch https://127.0.0.1:8443/ --insecure</code>.</p>\n"
    "<table id=\"timing\"><thead><tr>\n"
    "<th>asset</th><th>protocol</th><th>asked at</th><th>waited</th><th>bytes</th><th class=\"wide\">timeline</th>\n"
    "</tr></thead><tbody></tbody></table>\n"
    "<noscript><p>The measuring needs JavaScript.</p></noscript>\n"
    "</section>\n"
    "<section class=\"card row\">\n"
    "<img src=\"/gradient.svg\" alt=\"a small gradient\" width=\"96\" height=\"96\">\n"
    "<div>\n"
    "<h2 id=\"hello\">Hello</h2>\n"
    "<p id=\"facts\">Loading facts\xe2\x80\xa6</p>\n"
    "<p>Try also <a href=\"/slow\">/slow</a> (a push that comes late), <a href=\"/big\">/big</a> (10 MiB)\n"
    "and POST something to <code>/echo</code>.</p>\n"
    "</div>\n"
    "</section>\n"
    "</main>\n"
    "<img class=\"waves\" src=\"/waves.svg\" alt=\"\">\n"
    "</body>\n"
    "</html>\n";

static const char base_css[] =
    ":root { --ink: #1d2433; --paper: #f6f7fb; --accent: #3f6fd8; --warm: #f2a65a; }\n"
    "* { box-sizing: border-box; }\n"
    "body {\n"
    "\tmargin: 0;\n"
    "\tfont: 16px/1.55 system-ui, sans-serif;\n"
    "\tcolor: var(--ink);\n"
    "\tbackground: var(--paper);\n"
    "}\n"
    "h1, h2 { line-height: 1.2; margin: 0 0 .4em; }\n"
    "a { color: var(--accent); }\n"
    "code { background: #e6eaf5; border-radius: 4px; padding: .1em .35em; }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "\t:root { --ink: #e8ebf4; --paper: #151a26; --accent: #86a8f5; }\n"
    "\tcode { background: #263047; }\n"
    "}\n";

static const char page_css[] =
    "header { text-align: center; padding: 3rem 1rem 1rem; }\n"
    ".lead { max-width: 36rem; margin: 0 auto; opacity: .8; }\n"
    "main { max-width: 56rem; margin: 0 auto; padding: 1rem; }\n"
    ".card {\n"
    "\tborder: 1px solid rgba(127, 140, 170, .3);\n"
    "\tborder-radius: 14px;\n"
    "\tpadding: 1.2rem 1.4rem;\n"
    "\tmargin: 1rem 0;\n"
    "\tbox-shadow: 0 6px 24px rgba(20, 30, 60, .06);\n"
    "}\n"
    ".row { display: flex; gap: 1.4rem; align-items: center; }\n"
    ".row img { border-radius: 12px; }\n"
    "table { width: 100%; border-collapse: collapse; font-size: .9rem; }\n"
    "th, td { text-align: left; padding: .35rem .5rem; white-space: nowrap; }\n"
    "td:nth-child(n+3):nth-child(-n+5) { text-align: right; font-variant-numeric: tabular-nums; }\n"
    "tr + tr td, tbody td { border-top: 1px solid rgba(127, 140, 170, .2); }\n"
    ".wide { width: 40%; }\n"
    ".bar { position: relative; height: .7rem; border-radius: 4px; background: rgba(127, 140, 170, .15); }\n"
    ".bar i {\n"
    "\tposition: absolute;\n"
    "\ttop: 0;\n"
    "\tbottom: 0;\n"
    "\tmin-width: 3px;\n"
    "\tborder-radius: 4px;\n"
    "\tbackground: linear-gradient(90deg, var(--accent), var(--warm));\n"
    "}\n"
    ".waves { display: block; width: 100%; margin-top: 2rem; }\n";

static const char timing_js[] =
    "'use strict';\n"
    "/* One row an asset: when it was asked for, how long that took, and a bar on a common scale. */\n"
    "function cell(row, text) {\n"
    "\tconst td = row.insertCell();\n"
    "\ttd.textContent = text;\n"
    "\treturn td;\n"
    "}\n"
    "function show(entries) {\n"
    "\tconst body = document.querySelector('#timing tbody');\n"
    "\tconst end = Math.max(1, ...entries.map((e) => e.responseEnd));\n"
    "\tbody.replaceChildren();\n"
    "\tfor (const e of entries) {\n"
    "\t\tconst row = body.insertRow();\n"
    "\t\tcell(row, new URL(e.name).pathname);\n"
    "\t\tcell(row, e.nextHopProtocol || '?');\n"
    "\t\tcell(row, e.startTime.toFixed(1) + ' ms');\n"
    "\t\tcell(row, (e.responseEnd - e.startTime).toFixed(1) + ' ms');\n"
    "\t\tcell(row, e.transferSize || e.encodedBodySize);\n"
    "\t\tconst bar = document.createElement('div');\n"
    "\t\tbar.className = 'bar';\n"
    "\t\tconst fill = document.createElement('i');\n"
    "\t\tfill.style.left = 100 * e.startTime / end + '%';\n"
    "\t\tfill.style.width = 100 * (e.responseEnd - e.startTime) / end + '%';\n"
    "\t\tbar.append(fill);\n"
    "\t\tcell(row, '').append(bar);\n"
    "\t}\n"
    "}\n"
    "const seen = () => [\n"
    "\t...performance.getEntriesByType('navigation'),\n"
    "\t...performance.getEntriesByType('resource'),\n"
    "].sort((a, b) => a.startTime - b.startTime);\n"
    "addEventListener('load', () => setTimeout(() => show(seen()), 100));\n";

static const char greet_js[] =
    "'use strict';\n"
    "const hour = new Date().getHours();\n"
    "const greeting = hour < 5 ? 'Good night' : hour < 12 ? 'Good morning' : hour < 18 ? 'Good afternoon' : 'Good evening';\n"
    "document.querySelector('#hello').textContent = greeting;\n"
    "fetch('/facts.json').then((r) => r.json()).then((facts) => {\n"
    "\tconst pick = facts[Math.floor(Math.random() * facts.length)];\n"
    "\tdocument.querySelector('#facts').textContent = pick;\n"
    "});\n";

static const char facts_json[] =
    "[\n"
    "\"A promised request has a method that is safe and cacheable, and no body.\",\n"
    "\"Promised streams have even numbers: the server opens them.\",\n"
    "\"A client that wants no pushes says so with ENABLE_PUSH=0, for its own hop alone.\",\n"
    "\"A PUSH_PROMISE comes before the bytes that refer to what is promised.\"\n"
    "]\n";

static const char logo_svg[] =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 64 64\">\n"
    "<rect width=\"64\" height=\"64\" rx=\"14\" fill=\"#3f6fd8\"/>\n"
    "<path d=\"M14 50V22a18 18 0 0 1 36 0v28\" fill=\"none\" stroke=\"#fff\" stroke-width=\"6\" stroke-linecap=\"round\"/>\n"
    "<path d=\"M32 26v20m-8-8 8 8 8-8\" fill=\"none\" stroke=\"#f2a65a\" stroke-width=\"6\" stroke-linecap=\"round\" stroke-linejoin=\"round\"/>\n"
    "</svg>\n";

static const char gradient_svg[] =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 96 96\" width=\"96\" height=\"96\">\n"
    "<linearGradient id=\"g\" x2=\"1\" y2=\"1\"><stop stop-color=\"#3f6fd8\"/><stop offset=\"1\" stop-color=\"#f2a65a\"/></linearGradient>\n"
    "<rect width=\"96\" height=\"96\" fill=\"url(#g)\"/>\n"
    "<circle cx=\"48\" cy=\"48\" r=\"26\" fill=\"none\" stroke=\"#fff\" stroke-width=\"6\"/>\n"
    "</svg>\n";

static const char waves_svg[] =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1200 120\" preserveAspectRatio=\"none\">\n"
    "<path fill=\"#3f6fd8\" fill-opacity=\".25\" d=\"M0 60c200-60 400 60 600 0s400-60 600 0v60H0z\"/>\n"
    "<path fill=\"#f2a65a\" fill-opacity=\".25\" d=\"M0 80c200 50 400-50 600 0s400 50 600 0v40H0z\"/>\n"
    "</svg>\n";

static const char late_css[] =
    ".late { color: #2c8a4b; }\n";

const struct slice demo_slow_parts[DEMO_SLOW_PARTS] = {
    SLICE_INIT(
    "<!doctype html>\n"
    "<html lang=\"en\">\n"
    "<head><meta charset=\"utf-8\"><title>slow</title><link rel=\"stylesheet\" href=\"/base.css\"></head>\n"
    "<body style=\"padding: 2rem\">\n"
    "<h1>The first half</h1>\n"
    "<p>The second half follows in a moment, and a stylesheet is promised on the way.</p>\n"),
    SLICE_INIT(
    "<link rel=\"stylesheet\" href=\"/late.css\">\n"
    "<h1>The second half</h1>\n"
    "<p class=\"late\">If this line is green, the late push arrived. <a href=\"/\">Back</a></p>\n"
    "</body>\n"
    "</html>\n"),
};

const struct demo_asset demo_assets[DEMO_ASSETS] = {
	{SLICE_INIT("/"), SLICE_INIT("text/html; charset=utf-8"), {page, sizeof(page) - 1}, SLICE_INIT("\"07173c154fd4\"")},
	{SLICE_INIT("/base.css"), SLICE_INIT("text/css"), {base_css, sizeof(base_css) - 1}, SLICE_INIT("\"b9809ca5f94b\"")},
	{SLICE_INIT("/page.css"), SLICE_INIT("text/css"), {page_css, sizeof(page_css) - 1}, SLICE_INIT("\"32fb201c72cd\"")},
	{SLICE_INIT("/timing.js"), SLICE_INIT("text/javascript"), {timing_js, sizeof(timing_js) - 1}, SLICE_INIT("\"1b4b6f2949d3\"")},
	{SLICE_INIT("/greet.js"), SLICE_INIT("text/javascript"), {greet_js, sizeof(greet_js) - 1}, SLICE_INIT("\"5fe75b58f0b7\"")},
	{SLICE_INIT("/logo.svg"), SLICE_INIT("image/svg+xml"), {logo_svg, sizeof(logo_svg) - 1}, SLICE_INIT("\"5d22314e4b29\"")},
	{SLICE_INIT("/gradient.svg"), SLICE_INIT("image/svg+xml"), {gradient_svg, sizeof(gradient_svg) - 1}, SLICE_INIT("\"e1c423754b53\"")},
	{SLICE_INIT("/facts.json"), SLICE_INIT("application/json"), {facts_json, sizeof(facts_json) - 1}, SLICE_INIT("\"6ba4cbe18f24\"")},
	{SLICE_INIT("/waves.svg"), SLICE_INIT("image/svg+xml"), {waves_svg, sizeof(waves_svg) - 1}, SLICE_INIT("\"561dec7b2f6c\"")},
	{SLICE_INIT("/late.css"), SLICE_INIT("text/css"), {late_css, sizeof(late_css) - 1}, SLICE_INIT("\"564c9e315936\"")},
};
