// Writes what a reader sees of each page into the document.
const all = (of, what) => [...of.querySelectorAll(what)];
const rgb = color => color.match(/[\d.]+/g).map(Number);
const over = ([r, g, b, a = 1], e, below) =>
  [r, g, b].map((x, i) => a * opacity(e) * x + (1 - a * opacity(e)) * below[i]);
const opacity = e => e ? getComputedStyle(e).opacity * opacity(e.parentElement) : 1;
const linear = x => (x /= 255) <= .04045 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4;
const light = color => [.2126, .7152, .0722].reduce((sum, w, i) => sum + w * linear(color[i]), .05);
const ratio = (a, b) => Math.max(light(a) / light(b), light(b) / light(a));
function behind(e) {  // a colour, and those of a gradient
  if (!e) return [[255, 255, 255]];
  const {backgroundColor, backgroundImage} = getComputedStyle(e);
  const flat = behind(e.parentElement).map(each => over(rgb(backgroundColor), e, each));
  const stripes = backgroundImage.match(/rgba?\(.*?\)/g) ?? [];
  return [...flat, ...stripes.flatMap(each => flat.map(under => over(rgb(each), e, under)))];
}
function unseen(e, {left, right}) {
  const {innerWidth} = e.ownerDocument.defaultView;
  for (; e.parentElement; e = e.parentElement) {
    const {overflowX} = getComputedStyle(e), room = e.getBoundingClientRect();
    if (overflowX == "visible" || left >= room.left - 1 && right <= room.right + 1) continue;
    if (overflowX == "auto") return "";  // it scrolls
    return e.title || e.matches("details:not([open]) > summary") ? "shortened" : "cut";
  }
  return left < -1 || right > innerWidth + 1 ? "beyond" : "";
}
function faults(page) {
  const found = [], range = page.createRange();
  const texts = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
  const boxes = () => [...range.getClientRects()].filter(box => box.width > 1);
  if (page.documentElement.scrollWidth > page.defaultView.innerWidth) found.push(["wide", ""]);
  while (texts.nextNode()) {
    const node = texts.currentNode, e = node.parentElement, {color} = getComputedStyle(e);
    range.selectNodeContents(node);
    if (!node.data.trim() || !boxes().length) continue;
    found.push(...boxes().map(box => [unseen(e, box), node.data]).filter(([fault]) => fault));
    if (behind(e).some(each => ratio(over(rgb(color), e, each), each) < 4.5))
      found.push(["pale", node.data]);
    for (const word of e.closest("thead") ? node.data.matchAll(/[a-z]+/gi) : []) {
      range.setStart(node, word.index), range.setEnd(node, word.index + word[0].length);
      if (boxes().length > 1) found.push(["broken", word[0]]);
    }
  }
  return found;
}
function bars(page) {  // of each table or document the shares that are filled, and what they say
  const groups = new Map();
  for (const bar of all(page, ".han-bar").filter(each => each.offsetWidth)) {
    const cell = bar.closest("td"), group = bar.closest("table, .han-text");
    const says = cell ? cell.innerText.trim() || cell.nextElementSibling.innerText
      : bar.closest("[role]").ariaLabel.replace(/.*:/, "");
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push([bar.firstChild.offsetWidth, bar.offsetWidth, says]);
  }
  return [...groups.values()];
}
onload = () => {
  const seen = all(document, "iframe").map(({title, contentDocument: page}) => {
    const folded = faults(page);
    all(page, "details").forEach(each => each.open = true);
    return [title, {
      title: page.title, headings: all(page, "h1").map(each => each.textContent),
      notes: all(page, ".han-row > .han-cell.han-small").map(e => e.innerText.trim()),
      scrolls: all(page, ".han-wide").filter(e => e.scrollWidth > e.clientWidth + 1).length,
      faults: [...folded, ...faults(page)], bars: bars(page), page: light(behind(page.body)[0]),
      marks: all(page, "mark[title*=contribution]").map(each => String(behind(each))),
    }];
  });
  document.body.innerText = JSON.stringify(Object.fromEntries(seen));
};
