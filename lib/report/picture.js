// SPDX-License-Identifier: MIT
//
// The timeline to move around in. Reads the page's #data, fills #timeline, and then says so there:
// data-state="ready", data-cursor, data-first and data-end (columns). A column is one moment, or of
// several that share it the fullest. Text reaches the page as text only, never as markup.
"use strict";
(function () {
    const data = JSON.parse(document.getElementById("data").textContent);
    const host = document.getElementById("timeline");
    const columns = data.columns;
    const HEIGHT = 372, LEFT = 66, RIGHT = 8, TOP = 26, BOTTOM = 52, PHASES = 12;
    const LISTED = 8, NARROWEST = Math.min(columns, 12);

    // ---- data

    const moment = (column) => (data.moments ? data.moments[column] : column);

    function expand(changes) {
        const bytes = new Float64Array(columns).fill(changes[0]);
        let column = 0, value = changes[0];
        for (let i = 1; i < changes.length; i += 2) {
            column += changes[i];
            value += changes[i + 1];
            bytes.fill(value, column);
        }
        return bytes;
    }

    // tops[i]: the upper edge of band i, the lowest first.
    const bands = data.bands.map((band) => ({ id: band.id, name: band.name, bytes: expand(band.changes) }));
    const tops = [];
    let totals = new Float64Array(columns);
    for (const band of bands) {
        totals = totals.map((sum, column) => sum + band.bytes[column]);
        tops.push(totals);
    }

    function fill(template, numbers) {
        return data.templates[template].reduce((text, part, i) => text + numbers[i - 1] + part);
    }
    const slots = (template) => data.templates[template].length - 1;

    const groups = data.groups.map(([name, path, bytes, category, reason, members]) => {
        const width = slots(name) + slots(path) + 2;
        return { name, path, bytes, category, reason, members, width };
    });

    function holdersAt(column) {
        const live = [];
        for (const group of groups) {
            const { members, width } = group;
            let count = 0, found = 0;
            for (let i = 0; i < members.length; i += width) {
                const first = members[i + width - 2];
                if (first <= column && column < first + members[i + width - 1]) {
                    count++;
                    found = i;
                }
            }
            if (count > 0)
                live.push({ group, count, bytes: count * group.bytes, found });
        }
        return live.sort((a, b) => b.bytes - a.bytes);
    }

    // ---- words

    function words(bytes) {
        const units = ["B", "KiB", "MiB", "GiB"];
        let unit = 0;
        while (unit < 3 && bytes >= 1024) {
            bytes /= 1024;
            unit++;
        }
        return unit === 0 ? bytes + " B" : bytes.toFixed(2) + " " + units[unit];
    }

    const phaseAt = (column) => (data.phases.find(([, first, end]) => first <= column && column < end) || [""])[0];

    function runningAt(column) {
        const [template, ...numbers] = data.running[column];
        return template === undefined ? "" : fill(template, numbers);
    }

    function namesOf({ group, count, found }) {
        const numbers = count > 1 ? new Array(group.width).fill("*") : group.members.slice(found, found + group.width);
        return [fill(group.name, numbers), fill(group.path, numbers.slice(slots(group.name)))];
    }

    // ---- elements

    function add(parent, name, attributes, text) {
        const inside = parent.namespaceURI === "http://www.w3.org/2000/svg" || name === "svg";
        const element = inside ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
        for (const key in attributes)
            element.setAttribute(key, attributes[key]);
        if (text !== undefined)
            element.textContent = text;
        parent.appendChild(element);
        return element;
    }

    const built = document.createElement("div");
    const tools = add(built, "div", { class: "tools", role: "toolbar", "aria-label": "View" });
    const button = (text, act) => add(tools, "button", { type: "button" }, text).addEventListener("click", act);
    const stage = add(built, "div", { class: "stage" });
    const left = add(stage, "div", {});
    const chart = add(left, "div", {
        class: "chart", tabindex: 0, role: "slider", "aria-label": "Moment of the step", "aria-valuemin": 0,
        "aria-valuemax": data.length - 1, "aria-describedby": "timeline-hint", "aria-orientation": "horizontal",
    });
    const hint = add(left, "p", { class: "hint", id: "timeline-hint" });
    const panel = add(stage, "div", { class: "panel" });
    const holders = add(built, "div", { class: "holders scroll", role: "region", tabindex: 0, "aria-label": "Largest tensors at the moment of the cursor" });

    // ---- view

    const view = { first: 0, end: columns };
    let cursor = data.peak, width = 800, queued = 0;

    const plotWidth = () => width - LEFT - RIGHT;
    const isWhole = () => view.first <= 0 && view.end >= columns;
    const xOf = (column) => LEFT + ((column - view.first) / (view.end - view.first)) * plotWidth();
    const columnAt = (x) => view.first + ((x - LEFT) / plotWidth()) * (view.end - view.first);
    const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

    function show(first, end) {
        const span = clamp(end - first, NARROWEST, columns);
        view.first = clamp(first, 0, columns - span);
        view.end = view.first + span;
        queue(true);
    }

    function zoom(factor, around) {
        const span = clamp((view.end - view.first) * factor, NARROWEST, columns);
        const share = (around - view.first) / (view.end - view.first);
        show(around - share * span, around - share * span + span);
    }

    // Follows the cursor when it leaves the view.
    function moveTo(column) {
        cursor = clamp(Math.round(column), 0, columns - 1);
        const span = view.end - view.first;
        if (cursor < view.first)
            show(cursor - span * 0.1, cursor + span * 0.9);
        else if (cursor + 1 > view.end)
            show(cursor - span * 0.9, cursor + span * 0.1);
        queue(false);
    }

    function movePhase(direction) {
        const starts = data.phases.map(([, first]) => first).concat(columns - 1);
        const next = direction > 0 ? starts.find((first) => first > cursor) : starts.reverse().find((first) => first < cursor);
        moveTo(next === undefined ? (direction > 0 ? columns - 1 : 0) : next);
    }

    function toPeak() {
        moveTo(data.peak);
        const span = view.end - view.first;
        if (!isWhole())
            show(data.peak - span / 2, data.peak + span / 2);
    }

    // ---- the axis, as lin_picture_make_axis draws it

    const top = { bytes: Math.max(totals[data.peak], 1) };
    top.capacity = data.capacity > 0 && data.capacity <= top.bytes * 1.6;
    if (top.capacity)
        top.bytes = Math.max(top.bytes, data.capacity);
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    const unit = Math.min(5, Math.floor(Math.log2(top.bytes) / 10));
    const unitBytes = 1024 ** unit;
    const step = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((tenths) => top.bytes / (tenths * unitBytes) <= 6) * unitBytes;
    const high = top.bytes * 1.06;
    const GROUND = HEIGHT - BOTTOM;
    const yOf = (bytes) => GROUND - (bytes / high) * (GROUND - TOP);

    // ---- drawing

    // Columns in view, at most one a pixel: [first column, the fullest of those that share it].
    function visible() {
        const first = Math.floor(view.first), end = Math.min(columns, Math.ceil(view.end));
        const count = Math.min(end - first, Math.max(1, Math.floor(plotWidth())));
        const shown = [];
        for (let i = 0; i < count; i++) {
            const start = first + Math.floor((i * (end - first)) / count);
            const stop = first + Math.floor(((i + 1) * (end - first)) / count);
            let fullest = start;
            for (let column = start; column < stop; column++)
                if (totals[column] > totals[fullest])
                    fullest = column;
            shown.push([start, fullest]);
        }
        shown.push([end, end]);
        return shown;
    }

    function edge(shown, heights) {
        const parts = [];
        let last = NaN;
        for (let i = 0; i + 1 < shown.length; i++) {
            const y = yOf(heights[shown[i][1]]).toFixed(1);
            if (y !== last)
                parts.push((i > 0 ? "H" + xOf(shown[i][0]).toFixed(1) : "") + "V" + y);
            last = y;
        }
        return parts.join("") + "H" + xOf(shown[shown.length - 1][0]).toFixed(1);
    }

    function drawAxis(svg) {
        for (let bytes = 0; bytes <= high; bytes += step) {
            const y = yOf(bytes), text = bytes === 0 ? "0" : +(bytes / unitBytes).toFixed(1) + " " + units[unit];
            add(svg, "line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y, y2: y });
            add(svg, "text", { class: "muted", x: LEFT - 8, y: y + 4, "text-anchor": "end" }, text);
        }
    }

    function drawMoments(svg) {
        const span = view.end - view.first, wanted = span / Math.max(2, plotWidth() / 110);
        const decade = 10 ** Math.floor(Math.log10(wanted));
        const every = Math.max(1, decade * [1, 2, 5, 10].find((times) => decade * times >= wanted));
        for (let column = Math.ceil(view.first / every) * every; column < view.end; column += every) {
            const x = xOf(column + 0.5);
            if (x > width - RIGHT - 14)
                break;
            add(svg, "text", { class: "muted", x, y: GROUND + PHASES + 22, "text-anchor": "middle" }, moment(column));
        }
    }

    function drawPhases(svg) {
        for (const [name, first, end] of data.phases) {
            const from = Math.max(LEFT, xOf(first)), to = Math.min(width - RIGHT, xOf(end));
            if (to <= from)
                continue;
            const box = { class: "phase phase-" + name, x: from, y: GROUND + 4, width: to - from, height: PHASES };
            add(add(svg, "rect", box), "title", {}, name);
        }
    }

    // How much of the step is in view.
    function drawWindow(svg) {
        const y = HEIGHT - 6;
        add(svg, "rect", { class: "track", x: LEFT, y, width: plotWidth(), height: 4, rx: 2 });
        const from = LEFT + (view.first / columns) * plotWidth();
        const long = Math.max(4, ((view.end - view.first) / columns) * plotWidth());
        add(svg, "rect", { class: "window", x: from, y, width: long, height: 4, rx: 2 });
    }

    function drawPeak(svg) {
        const x = xOf(data.peak + 0.5), y = yOf(totals[data.peak]);
        if (x < LEFT || x > width - RIGHT)
            return;
        const isRight = x > width / 2;
        add(svg, "circle", { class: "dot", cx: x, cy: y, r: 4 });
        add(svg, "text", { class: "ink strong halo", x: x + (isRight ? -8 : 8), y: y - 7, "text-anchor": isRight ? "end" : "start" }, "peak " + words(totals[data.peak]));
    }

    function drawCapacity(svg) {
        if (!top.capacity)
            return;
        const y = yOf(data.capacity);
        add(svg, "path", { class: "capacity", d: "M" + LEFT + " " + y + "H" + (width - RIGHT) });
        add(svg, "text", { class: "ink halo", x: LEFT + 6, y: y - 5 }, "capacity " + words(data.capacity));
    }

    function drawBands(svg) {
        const clip = add(add(svg, "defs", {}), "clipPath", { id: "plot" });
        add(clip, "rect", { x: LEFT, y: 0, width: plotWidth(), height: GROUND });
        const inside = add(svg, "g", { "clip-path": "url(#plot)" });
        const shown = visible(), start = "M" + xOf(shown[0][0]).toFixed(1) + " ";
        for (let i = bands.length - 1; i >= 0; i--)
            add(inside, "path", { class: "band band-" + bands[i].id, d: start + GROUND + edge(shown, tops[i]) + "V" + GROUND + "Z" });
        add(inside, "path", { class: "edge", d: start + yOf(totals[shown[0][1]]).toFixed(1) + edge(shown, totals) });
    }

    let drawing, pointer;
    function draw() {
        const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
        const label = "Bytes by category over " + data.length + " moments, peak " + words(totals[data.peak]);
        for (const [key, value] of [["viewBox", "0 0 " + width + " " + HEIGHT], ["role", "img"], ["aria-label", label]])
            svg.setAttribute(key, value);
        drawAxis(svg);
        drawBands(svg);
        drawCapacity(svg);
        drawPhases(svg);
        drawMoments(svg);
        drawWindow(svg);
        drawPeak(svg);
        pointer = add(svg, "g", {});
        if (drawing)
            drawing.remove();
        drawing = chart.appendChild(svg);
    }

    function drawCursor() {
        const x = xOf(cursor + 0.5);
        pointer.replaceChildren();
        if (x < LEFT || x > width - RIGHT)
            return;
        add(pointer, "line", { class: "cursor", x1: x, x2: x, y1: TOP, y2: GROUND + 4 + PHASES });
        add(pointer, "circle", { class: "handle", cx: x, cy: yOf(totals[cursor]), r: 4 });
    }

    // ---- what is there at the cursor

    function fillPanel() {
        panel.replaceChildren();
        add(panel, "h3", {}, "Moment " + moment(cursor) + " of " + data.length + ", " + phaseAt(cursor));
        add(panel, "p", { class: "runs" }, runningAt(cursor));
        add(panel, "p", { class: "total" }, words(totals[cursor]));
        const list = add(panel, "ul", { class: "keys" });
        for (const band of bands.slice().reverse()) {
            const row = add(list, "li", band.bytes[cursor] === 0 ? { class: "none" } : {});
            add(row, "i", { class: "swatch band-" + band.id });
            add(row, "span", {}, band.name);
            add(row, "b", {}, words(band.bytes[cursor]));
        }
    }

    function fillHolders() {
        const live = holdersAt(cursor), listed = live.slice(0, LISTED);
        holders.replaceChildren();
        const table = add(holders, "table", {});
        add(table, "caption", { hidden: "" }, "Largest tensors at this moment");
        const head = add(add(table, "thead", {}), "tr", {});
        for (const [text, style] of [["Largest at this moment", ""], ["", "number"], ["Together", "number"], ["Path", ""]])
            add(head, "th", { scope: "col", class: style }, text);
        const body = add(table, "tbody", {});
        for (const holder of listed) {
            const row = add(body, "tr", {}), [name, path] = namesOf(holder);
            const cell = add(row, "th", { scope: "row" });
            add(cell, "i", { class: "swatch band-" + holder.group.category });
            add(cell, "span", {}, name);
            add(row, "td", { class: "number" }, holder.count > 1 ? holder.count + " × " + words(holder.group.bytes) : "");
            add(row, "td", { class: "number" }, words(holder.bytes));
            add(row, "td", { class: "path" }, path);
        }
        const rest = totals[cursor] - listed.reduce((sum, holder) => sum + holder.bytes, 0);
        const row = add(body, "tr", { class: "muted" });
        add(row, "th", { scope: "row" }, "the rest");
        add(row, "td", {});
        add(row, "td", { class: "number" }, words(rest));
        add(row, "td", {}, "smaller tensors and the runtime");
    }

    function tell() {
        const text = "moment " + moment(cursor) + ", " + phaseAt(cursor) + ", " + words(totals[cursor]) + ", " + runningAt(cursor);
        chart.setAttribute("aria-valuenow", moment(cursor));
        chart.setAttribute("aria-valuetext", text);
        Object.assign(host.dataset, { cursor, first: Math.round(view.first), end: Math.round(view.end) });
    }

    function update(redraw) {
        if (redraw)
            draw();
        drawCursor();
        fillPanel();
        fillHolders();
    }

    // One update a frame: 1 the cursor alone, 2 all of it. What is told to readers waits for none.
    function queue(redraw) {
        tell();
        if (queued === 0)
            requestAnimationFrame(() => {
                const all = queued === 2;
                queued = 0;
                update(all);
            });
        queued = Math.max(queued, redraw ? 2 : 1);
    }

    // ---- input

    const touching = new Map();
    let dragged = false;
    const xIn = (event) => event.clientX - chart.getBoundingClientRect().left;

    chart.addEventListener("pointerdown", (event) => {
        touching.set(event.pointerId, xIn(event));
        dragged = false;
        chart.setPointerCapture(event.pointerId);
    });

    // Two fingers keep the columns they are on.
    function pinch(event) {
        const [other] = [...touching].filter(([id]) => id !== event.pointerId).map(([, x]) => x);
        const before = touching.get(event.pointerId), now = xIn(event);
        if (Math.abs(now - other) > 8 && Math.abs(before - other) > 8)
            zoom(Math.abs(before - other) / Math.abs(now - other), columnAt(other));
    }

    chart.addEventListener("pointermove", (event) => {
        const before = touching.get(event.pointerId), now = xIn(event);
        if (touching.size === 2 && before !== undefined) {
            pinch(event);
        } else if (before !== undefined && !isWhole() && (dragged || Math.abs(now - before) > 4)) {
            const by = ((before - now) / plotWidth()) * (view.end - view.first);
            dragged = true;
            chart.classList.add("moves");
            show(view.first + by, view.end + by);
        } else {
            moveTo(clamp(Math.floor(columnAt(now)), Math.ceil(view.first), Math.floor(view.end) - 1));
            if (before !== undefined && !isWhole())
                return;
        }
        if (before !== undefined)
            touching.set(event.pointerId, now);
    });

    for (const end of ["pointerup", "pointercancel"])
        chart.addEventListener(end, (event) => {
            touching.delete(event.pointerId);
            chart.classList.remove("moves");
            if (end === "pointerup" && !dragged)
                moveTo(clamp(Math.floor(columnAt(xIn(event))), Math.ceil(view.first), Math.floor(view.end) - 1));
        });

    // Without a modifier the page scrolls, until the picture was chosen by a click or the Tab key.
    chart.addEventListener("wheel", (event) => {
        if (!event.ctrlKey && !event.metaKey && document.activeElement !== chart)
            return;
        event.preventDefault();
        const by = (event.deltaX / plotWidth()) * (view.end - view.first);
        if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
            show(view.first + by, view.end + by);
        else
            zoom(Math.exp(clamp(event.deltaY, -200, 200) * 0.003), columnAt(xIn(event)));
    }, { passive: false });

    chart.addEventListener("dblclick", (event) => zoom(0.5, columnAt(xIn(event))));

    const leap = () => Math.max(1, Math.round((view.end - view.first) / 25));
    const keys = {
        ArrowLeft: (event) => moveTo(cursor - (event.shiftKey ? leap() : 1)),
        ArrowRight: (event) => moveTo(cursor + (event.shiftKey ? leap() : 1)),
        ArrowDown: (event) => keys.ArrowLeft(event),
        ArrowUp: (event) => keys.ArrowRight(event),
        PageUp: () => movePhase(-1),
        PageDown: () => movePhase(1),
        Home: () => moveTo(0),
        End: () => moveTo(columns - 1),
        "+": () => zoom(0.5, cursor + 0.5),
        "=": () => zoom(0.5, cursor + 0.5),
        "-": () => zoom(2, cursor + 0.5),
        0: () => show(0, columns),
        p: toPeak,
    };
    chart.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key])
            return;
        event.preventDefault();
        keys[event.key](event);
    });

    // ---- start

    button("Zoom in", () => zoom(0.5, cursor + 0.5));
    button("Zoom out", () => zoom(2, cursor + 0.5));
    button("Whole step", () => show(0, columns));
    button("Peak", toPeak);
    const legend = add(tools, "span", { class: "phases" });
    for (const name of new Set(data.phases.map(([phase]) => phase))) {
        const item = add(legend, "span", {});
        add(item, "i", { class: "phase-" + name });
        item.append(name);
    }
    for (const [key, text] of [["← →", " move, with Shift further; "], ["Page ↑ ↓", " phases; "], ["+ −", " zoom; "], ["0", " the whole step; "], ["p", " the peak. A wheel zooms after a click, dragging moves, two fingers zoom."]]) {
        add(hint, "kbd", {}, key);
        hint.append(text);
    }
    host.replaceChildren(...built.childNodes);
    new ResizeObserver(() => {
        const now = Math.max(280, chart.clientWidth);
        if (now === width)
            return;
        width = now;
        queue(true);
    }).observe(chart);
    width = Math.max(280, chart.clientWidth);
    update(true);
    tell();
    host.dataset.bands = bands.length;
    host.dataset.state = "ready";
})();
