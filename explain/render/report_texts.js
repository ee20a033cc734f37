"use strict";
// Texts that are packed into attributes: unpacked when they are unfolded.

async function unpack(pre) {
  if (pre.dataset.of) {
    const whole = document.querySelector("#" + CSS.escape(pre.dataset.of) + " > pre");
    if (!whole) return "The text that these lines are of is left out: this page is full.";
    const lines = (whole.dataset.z ? await unpack(whole) : whole.textContent).split("\n");
    return lines.slice(pre.dataset.from - 1, pre.dataset.to).join("\n");
  }
  const packed = Uint8Array.from(atob(pre.dataset.z), c => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).text();
}

async function fill(pre) {
  if (!pre || pre.dataset.done || !(pre.dataset.z || pre.dataset.of)) return;
  pre.dataset.done = "1";
  try {
    pre.textContent = await unpack(pre);
    delete pre.dataset.z;
    delete pre.dataset.of;
  } catch (e) {
    pre.textContent = "This browser cannot unpack the text: " + e.message;
  }
}

document.addEventListener("toggle", e => {
  if (e.target.open && e.target.classList.contains("text")) fill(e.target.querySelector("pre"));
}, true);
