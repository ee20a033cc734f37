"use strict";
// A hash opens its target with all that it is folded in.

function reveal(el) {
  if (el.matches("section")) el.firstElementChild.open = true;
  for (let at = el; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
}

function follow() {
  let id = location.hash.slice(1);
  try { id = decodeURIComponent(id); } catch { /* as it stands */ }
  const el = id && document.getElementById(id);
  for (const old of document.querySelectorAll(".target")) old.classList.remove("target");
  document.getElementById("gone").textContent = id && !el ? "#" + id + " is not on this page: this run has nothing by that key, or it is left out." : "";
  if (!el) return;
  el.classList.add("target");
  reveal(el);
  el.scrollIntoView();
  const to = el.matches("details") ? el.querySelector("summary") : el.querySelector("summary") || el;
  to.focus({ preventScroll: true });
}

addEventListener("hashchange", follow);
document.addEventListener("click", e => {
  const a = e.target.closest("a[href^='#']");
  if (a && a.getAttribute("href") === location.hash) follow();
});

const outer = () => document.querySelectorAll("details.section");
document.getElementById("all").addEventListener("click", () => {
  for (const d of outer()) d.open = true;
  for (const d of document.querySelectorAll("details.row:not(.hidden)")) d.open = true;
});
document.getElementById("none").addEventListener("click", () => {
  for (const d of document.querySelectorAll("details")) d.open = false;
});

// What is folded is printed, but for packed texts.
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open]):not(.text)")];
  for (const d of closed) d.open = true;
});
addEventListener("afterprint", () => {
  for (const d of closed) d.open = false;
});
follow();
addEventListener("load", follow); // again: the browser has moved the focus by its own rule
