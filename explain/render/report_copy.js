"use strict";
// Copies a finding, or the head of the page, as Markdown.

const inline = s => s.replace(/\s+/g, " ").trim();
const ticked = s => { const t = "`".repeat(1 + Math.max(0, ...(s.match(/`+/g) || []).map(x => x.length))); return t + s + t; };
const escaped = s => s.replace(/[\\*<\[\]`#|]|\b_|_\b|(?<!\w)_|_(?!\w)/g, "\\$&");
const plain = s => escaped(inline(s));

function words(el) {
  let out = "";
  for (const n of el.childNodes) {
    if (n.nodeType === Node.TEXT_NODE) out += escaped(n.data);
    else if (n.nodeType !== Node.ELEMENT_NODE || n.matches("button, .tools")) continue;
    else if (n.tagName === "CODE") out += " " + ticked(inline(n.textContent)) + " ";
    else if (n.tagName === "B") out += " **" + plain(n.textContent) + "** ";
    else if (n.tagName === "A" && n.protocol === "https:") out += "[" + plain(n.textContent) + "](" + n.href + ")";
    else out += words(n);
  }
  return out;
}

function markdown(el, out) {
  for (const n of el.children) {
    if (n.matches("button, .tools, details.text, script, .cut")) continue;
    if (n.matches("summary, h1, h2")) out.push((n.tagName === "H1" ? "# " : n.querySelector("h2") || n.tagName === "H2" ? "## " : "### ") + inline(words(n)));
    else if (n.matches("pre")) {
      const diff = n.querySelector(".add, .del") ? "diff" : "";
      if (n.textContent.trim()) out.push("```" + diff + "\n" + n.textContent.replace(/\n+$/, "").replace(/```/g, "` ` `") + "\n```");
    } else if (n.matches("li")) out.push("- " + inline(words(n)));
    else if (n.matches("p")) { if (n.textContent.trim()) out.push(inline(words(n))); }
    else if (n.matches(".totals")) out.push([...n.children].map(c => [...c.children].map(x => x.textContent).join(" ")).join(", "));
    else if (n.matches("tr")) out.push("- " + [...n.children].map(c => inline(words(c))).filter(Boolean).join(" | "));
    else markdown(n, out);
  }
  return out;
}

async function copy(button, text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  const was = button.textContent;
  button.textContent = "copied";
  setTimeout(() => { button.textContent = was; }, 1500);
}

document.getElementById("copy").addEventListener("click", e => {
  const out = markdown(document.querySelector("header"), []);
  for (const id of ["failures", "first"]) {
    const s = document.getElementById(id);
    if (s) markdown(s, out);
  }
  copy(e.target, out.join("\n\n") + "\n");
});

for (const tools of document.querySelectorAll(".tools")) {
  const b = document.createElement("button");
  b.type = "button";
  b.textContent = "copy as Markdown";
  b.addEventListener("click", () => copy(b, markdown(tools.closest("details"), []).join("\n\n") + "\n"));
  tools.append(" ", b);
}
