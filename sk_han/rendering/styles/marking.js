"use strict";
// Positions are those of Python, counted in characters: this script counts none.
const records = JSON.parse(document.getElementById("han-records").textContent);
const texts = [...document.querySelectorAll("section")];
const wordOf = (event) => event.target.closest("[role=checkbox]");
const isMarked = (word) => word.getAttribute("aria-checked") === "true";
const isRead = (text) => text.querySelector("input").checked;
let drawn = null; // what words become that the mouse is drawn over: marked or not
let isSaved = true;

function changed() {
  isSaved = false;
  document.getElementById("han-count").textContent = texts.filter(isRead).length;
}

function mark(word, marked) {
  word.setAttribute("aria-checked", marked);
  word.closest("section").querySelector("input").checked = true;
  changed();
}

function spansOf(text) {
  const spans = [];
  let last = null; // the span that a word behind it makes longer
  for (const word of text.querySelectorAll("[role=checkbox]")) {
    if (!isMarked(word)) last = null;
    else if (last) last.end = Number(word.dataset.end);
    else spans.push((last = { start: Number(word.dataset.start), end: Number(word.dataset.end) }));
  }
  return spans;
}

function save() {
  const found = texts.map((text, i) =>
    isRead(text) ? { ...records[i], spans: spansOf(text) } : records[i]);
  const lines = found.map((record) => JSON.stringify(record) + "\n").join("");
  document.getElementById("han-lines").value = lines;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([lines]));
  link.download = "highlights.jsonl";
  link.click();
  isSaved = true;
}

document.addEventListener("mousedown", (event) => {
  const word = wordOf(event);
  if (!word || event.button !== 0) return;
  drawn = !isMarked(word);
  mark(word, drawn);
  event.preventDefault(); // selects no text
});
document.addEventListener("mouseover", (event) => {
  if (drawn !== null && wordOf(event)) mark(wordOf(event), drawn);
});
document.addEventListener("mouseup", () => { drawn = null; });
document.addEventListener("keydown", (event) => {
  const word = wordOf(event);
  if (!word || ![" ", "Enter"].includes(event.key)) return;
  mark(word, !isMarked(word));
  event.preventDefault();
});
document.addEventListener("change", changed);
document.getElementById("han-save").addEventListener("click", save);
window.addEventListener("beforeunload", (event) => { if (!isSaved) event.preventDefault(); });
