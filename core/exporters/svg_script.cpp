#include "core/exporters/svg_script.h"

namespace stepscope::exporters {

const std::string_view kSvgStyle = R"(<style>
.page { fill: #fafafa; }
.title { font-size: 17px; text-anchor: middle; }
.button { cursor: pointer; fill: #0645ad; }
.f { cursor: pointer; }
.f text { pointer-events: none; }
.f:hover rect { stroke: #000; stroke-width: 0.7; }
.f.above rect { opacity: 0.45; }
.f.found rect { fill: #c83cc8; }
</style>
)";

const std::string_view kSvgScript = R"JS("use strict";
(function () {
  var root = document.documentElement;
  var total = Number(root.getAttribute("data-total"));
  var margin = 10, width = 1200 - 2 * margin, letter = 6.6;
  var frames = Array.prototype.map.call(document.querySelectorAll("#frames > g.f"), function (g) {
    var title = g.querySelector("title").textContent;
    var cut = title.lastIndexOf("\n");
    return {
      g: g, rect: g.querySelector("rect"), label: g.querySelector("text"), name: title.slice(0, cut), about: title.slice(cut + 1),
      start: Number(g.getAttribute("data-s")), weight: Number(g.getAttribute("data-w")), depth: Number(g.getAttribute("data-d"))
    };
  });
  var details = document.getElementById("details"), reset = document.getElementById("reset");
  var search = document.getElementById("search"), matched = document.getElementById("matched");
  var hint = details.textContent;
  var zoomed = frames[0], wanted = null;

  function inside(frame, outer) {
    return frame.depth >= outer.depth && frame.start >= outer.start && frame.start + frame.weight <= outer.start + outer.weight;
  }
  function around(frame, inner) {
    return frame.depth < inner.depth && frame.start <= inner.start && frame.start + frame.weight >= inner.start + inner.weight;
  }
  function fit(name, room) {
    var letters = Math.floor(room / letter);
    if (letters < 3) return "";
    return name.length <= letters ? name : name.slice(0, letters - 2) + "..";
  }
  function place() {
    var scale = zoomed.weight > 0 ? width / zoomed.weight : 0;
    frames.forEach(function (frame) {
      var above = around(frame, zoomed), shown = above || inside(frame, zoomed);
      frame.g.setAttribute("visibility", shown ? "visible" : "hidden");
      frame.g.classList.toggle("above", above);
      if (!shown) return;
      var x = above ? margin : margin + (frame.start - zoomed.start) * scale;
      var w = above ? width : frame.weight * scale;
      frame.rect.setAttribute("x", x.toFixed(2));
      frame.rect.setAttribute("width", Math.max(0, w - (w > 2 ? 0.5 : 0)).toFixed(2));
      frame.label.setAttribute("x", (x + 3).toFixed(2));
      frame.label.textContent = fit(frame.name, w - 6);
    });
    reset.setAttribute("visibility", zoomed === frames[0] ? "hidden" : "visible");
    mark();
  }
  // The share of what is visible whose stack has a match: of matches within matches the outer one counts.
  function mark() {
    var test = null;
    if (wanted) {
      try { var expression = new RegExp(wanted); test = function (name) { return expression.test(name); }; }
      catch (error) { test = function (name) { return name.indexOf(wanted) >= 0; }; }
    }
    var found = [];
    frames.forEach(function (frame) {
      var hit = test !== null && frame !== frames[0] && test(frame.name);
      frame.g.classList.toggle("found", hit);
      if (hit && inside(frame, zoomed)) found.push(frame);
    });
    found.sort(function (a, b) { return a.start - b.start || a.depth - b.depth; });
    var sum = 0, end = -1;
    found.forEach(function (frame) {
      if (frame.start < end) return;
      sum += frame.weight;
      end = frame.start + frame.weight;
    });
    root.setAttribute("data-matched", String(sum));
    root.setAttribute("data-visible", String(zoomed.weight));
    matched.textContent = test === null ? " " : "Matched: " + (zoomed.weight > 0 ? (100 * sum / zoomed.weight).toFixed(1) : "0.0") + " %";
    search.textContent = test === null ? "Search" : "Clear search";
  }
  function zoom(frame) { zoomed = frame; place(); }
  function find(text) { wanted = text || null; mark(); }
  function ask() {
    if (wanted) { find(null); return; }
    var text = window.prompt("Name or regular expression", "");
    if (text) find(text);
  }
  frames.forEach(function (frame) {
    frame.g.addEventListener("click", function () { zoom(frame); });
    frame.g.addEventListener("mouseover", function () { details.textContent = frame.name + ": " + frame.about; });
    frame.g.addEventListener("mouseout", function () { details.textContent = hint; });
  });
  reset.addEventListener("click", function () { zoom(frames[0]); });
  search.addEventListener("click", ask);
  window.addEventListener("keydown", function (event) {
    if (event.key === "f" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); ask(); }
    else if (event.key === "Escape") { find(null); zoom(frames[0]); }
  });
  window.stepscopeFind = find; // for pages that embed the graph
  place();
})();
)JS";

} // namespace stepscope::exporters
