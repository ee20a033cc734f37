"use strict";
// The filter: hides rows that do not match, opens and marks those that do, and stands in the page's address.

const filter = document.getElementById("filter"), count = document.getElementById("count"), deep = document.getElementById("deep");
const most = { opened: 60, marked: 3000 };
let opened = [], waiting = 0;

function openFor(d) {
  if (d.open || d.classList.contains("text") && opened.length >= most.opened) return;
  d.open = true;
  opened.push(d);
}

// found lists where a row's text has what is looked for. A long name is several texts, between which it may break.
function found(row, want, ranges) {
  const walk = document.createTreeWalker(row, NodeFilter.SHOW_TEXT), texts = [];
  let all = "";
  for (let t = walk.nextNode(); t; t = walk.nextNode()) {
    const text = t.data.toLowerCase();
    texts.push([all.length, t, text.length === t.data.length]);
    all += text;
  }
  let k = 0;
  const inside = (at) => {
    while (k + 1 < texts.length && texts[k + 1][0] < at) k++;
    return texts[k];
  };
  for (let i = all.indexOf(want); i >= 0 && ranges.length < most.marked; i = all.indexOf(want, i + want.length)) {
    const [from, first, plain] = inside(i + 1), [to, last, alike] = inside(i + want.length);
    if (!plain || !alike) continue;
    const r = new Range();
    r.setStart(first, i - from);
    r.setEnd(last, i + want.length - to);
    ranges.push(r);
  }
}

function openRow(row) {
  for (let at = row.parentElement; at; at = at.parentElement) if (at.tagName === "DETAILS") openFor(at);
  if (row.tagName !== "DETAILS" || opened.length > most.opened) return;
  openFor(row);
}

function apply(keep) {
  const want = filter.value.trim().toLowerCase();
  for (const d of opened) if (!keep) d.open = false;
  if (!keep) opened = [];
  document.body.classList.toggle("filtered", want !== "");
  const rows = document.querySelectorAll(".row"), ranges = [], per = new Map();
  let n = 0;
  for (const row of rows) {
    const hit = want === "" || row.textContent.toLowerCase().includes(want);
    row.classList.toggle("hidden", !hit);
    if (want === "" || !hit) continue;
    n++;
    found(row, want, ranges);
    openRow(row);
    const title = row.closest("section")?.querySelector("h2").textContent.replace(/ \(.*/, "");
    per.set(title, (per.get(title) || 0) + 1);
  }
  globalThis.CSS?.highlights?.set("found", new Highlight(...ranges));
  const packed = document.querySelectorAll("pre[data-z]").length;
  deep.hidden = want === "" || packed === 0;
  deep.textContent = "search " + packed + " packed texts";
  count.textContent = want === "" ? "" : n + " of " + rows.length + " rows" +
    (n ? ": " + [...per].map(([k, v]) => k + " " + v).join(", ") : "");
}

// stand puts the filter into the page's address.
function stand() {
  const url = new URL(location.href);
  if (filter.value === "") url.searchParams.delete("q");
  else url.searchParams.set("q", filter.value);
  try { history.replaceState(null, "", url); } catch { /* this page may not name itself */ }
}

filter.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => { apply(); stand(); }, 100);
});

// Packed texts are searched one after the other; one that has a match is unpacked for good.
deep.addEventListener("click", async () => {
  const want = filter.value.trim().toLowerCase();
  let n = 0, shown = 0;
  for (const pre of document.querySelectorAll("pre[data-z]")) {
    const text = pre.dataset.done ? pre.textContent : await unpack(pre);
    if (!text.toLowerCase().includes(want)) continue;
    n++;
    if (shown >= most.opened) continue;
    shown++;
    await fill(pre);
    openFor(pre.parentElement);
  }
  apply(true);
  count.textContent += "; " + n + " packed texts" + (n > shown ? ", the first " + shown + " are open" : "");
  deep.hidden = true;
});

addEventListener("keydown", e => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName);
  if (e.key === "/" && !typing && !e.ctrlKey && !e.metaKey && !e.altKey) {
    e.preventDefault();
    filter.focus();
  } else if (e.key === "Escape" && e.target === filter) {
    filter.value = "";
    apply();
    stand();
  }
});

filter.value = new URLSearchParams(location.search).get("q") || filter.value;
if (filter.value !== "") {
  apply();
  if (location.hash) follow();
}
