(function () {
"use strict";

// Each figure shows, where one points, the values of its nearest stop.
function reader(plot) {
  var stops = JSON.parse(plot.querySelector("script").textContent);
  var at = -1;
  var cross = added("cross"), tip = added("tip");
  if (stops.length === 0) { return; }
  tip.setAttribute("role", "status");

  function added(name) {
    var box = document.createElement("div");
    box.className = name;
    box.hidden = true;
    return plot.appendChild(box);
  }

  // The shape that the page's width shows, and its measures in its own units.
  function shape() {
    var svg = Array.from(plot.querySelectorAll("svg")).find(function (s) { return s.getBoundingClientRect().width > 0; });
    var box = svg.getBoundingClientRect();
    var scale = box.width / svg.viewBox.baseVal.width;
    function of(name) { return scale * Number(svg.dataset[name]); }
    return { box: box, left: of("left"), right: of("right"), top: of("top"), bottom: of("bottom") };
  }

  function show(next) {
    at = Math.max(0, Math.min(stops.length - 1, next));
    var s = shape(), stop = stops[at], x = s.left + stop.at * (s.right - s.left);
    var offset = s.box.left - plot.getBoundingClientRect().left;
    tip.textContent = "";
    [stop.head].concat(stop.rows).forEach(function (words) {
      var line = document.createElement("div");
      line.textContent = words;
      tip.appendChild(line);
    });
    cross.hidden = tip.hidden = false;
    cross.style.left = offset + x + "px";
    cross.style.top = s.top + "px";
    cross.style.height = s.bottom - s.top + "px";
    var room = plot.clientWidth - tip.offsetWidth;
    var beside = offset + x + 10;
    if (beside > room) { beside = offset + x - 10 - tip.offsetWidth; }
    tip.style.left = Math.max(0, Math.min(room, beside)) + "px";
    tip.style.top = s.top + 4 + "px";
  }

  function hide() { cross.hidden = tip.hidden = true; }

  function point(event) {
    var s = shape(), share = (event.clientX - s.box.left - s.left) / (s.right - s.left);
    var best = 0;
    stops.forEach(function (stop, i) {
      if (Math.abs(stops[best].at - share) > Math.abs(stop.at - share)) { best = i; }
    });
    show(best);
  }

  plot.addEventListener("pointermove", point);
  plot.addEventListener("pointerdown", point);
  plot.addEventListener("pointerleave", hide);
  plot.addEventListener("blur", hide);
  plot.addEventListener("keydown", function (event) {
    var next = { ArrowLeft: at - 1, ArrowRight: at + 1, PageUp: at - 10, PageDown: at + 10, Home: 0, End: stops.length - 1 }[event.key];
    if (event.key === "Escape") { hide(); }
    if (next === undefined) { return; }
    event.preventDefault();
    show(next);
  });
}

// A button saves one of the page's JSON files.
function saver(button) {
  button.addEventListener("click", function () {
    var data = document.getElementById(button.dataset.save);
    var link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([data.textContent.trim(), "\n"], { type: "application/json" }));
    link.download = data.dataset.file;
    link.click();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
  });
}

document.querySelectorAll(".plot").forEach(reader);
document.querySelectorAll("button[data-save]").forEach(saver);
})();
