/* Search over the guides, the API reference and the events. */
(() => {
  const search = document.querySelector('.search');
  const field = search.querySelector('input');
  const found = search.querySelector('.found');
  const status = found.querySelector('[role=status]');
  const list = found.querySelector('ul');
  const maxFound = 12;
  const shownText = 110;
  let index = null;

  const loadIndex = () => {
    index ??= fetch(search.dataset.index).then((answer) => answer.json());
    return index;
  };

  const endings = /(?:ations?|ating|ated|ates?|ions?|ings?|ied|ies|ed|es|e|s|y)$/;
  const minStem = 3;

  /** What the forms of a word have in common: "rotate", "rotating" and "rotation" begin with "rot". */
  function stemOf(word) {
    const stem = word.replace(endings, '');
    return stem.length < minStem ? word : stem.replace(/([bdgmnpt])\1$/, '$1');
  }

  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

  /** Finds a word as it is typed, else another form of it: "rotate" in "Rotating the token keys". */
  function matcherOf(word) {
    const stem = stemOf(word);
    const isForm = (other) => stemOf(other) === stem;
    const begins = new RegExp(`(?<![\\p{L}\\p{N}])${escaped(stem)}\\p{L}*`, 'giu');
    return {
      has: (text) => text.includes(word) || (text.match(begins) ?? []).some(isForm),
      indexIn: (text) => {
        const at = text.indexOf(word);
        return at >= 0 ? at : text.search(begins);
      },
    };
  }

  /** Better the earlier a word stands: in the heading, in the page's name, in the text; 0: a word is missing. */
  function scoreOf([, page, heading, text], words) {
    const places = [
      [heading.toLowerCase(), 10],
      [page.toLowerCase(), 4],
      [text.toLowerCase(), 1],
    ];
    let score = 0;
    for (const word of words) {
      const best = places.find(([place]) => word.has(place));
      if (best === undefined) return 0;
      score += best[1];
    }
    return score;
  }

  function excerptOf(text, words) {
    const at = Math.max(0, ...words.map((word) => word.indexIn(text.toLowerCase())));
    const from = Math.max(0, at - 40);
    return `${from > 0 ? '…' : ''}${text.slice(from, from + shownText)}${text.length > from + shownText ? '…' : ''}`;
  }

  function element(name, text, className) {
    const made = document.createElement(name);
    made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  async function find() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean).map(matcherOf);
    if (words.length === 0) {
      found.hidden = true;
      return;
    }
    const asked = field.value;
    const rows = await loadIndex();
    if (field.value !== asked) return;
    const hits = rows
      .map((row) => ({ row, score: scoreOf(row, words) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
      .slice(0, maxFound);
    status.textContent = hits.length === 0 ? 'Nothing found.' : `${hits.length} found`;
    list.replaceChildren(
      ...hits.map(({ row: [href, page, heading, text] }) => {
        const link = document.createElement('a');
        link.href = href;
        link.append(element('strong', heading), element('small', page), element('span', excerptOf(text, words)));
        const item = document.createElement('li');
        item.append(link);
        return item;
      }),
    );
    found.hidden = false;
  }

  search.hidden = false;
  field.addEventListener('focus', () => void loadIndex());
  field.addEventListener('input', () => void find());
  list.addEventListener('click', () => {
    found.hidden = true;
  });
  document.addEventListener('click', (event) => {
    if (!search.contains(event.target)) found.hidden = true;
  });
  document.addEventListener('keydown', (event) => {
    const links = [...list.querySelectorAll('a')];
    const at = links.indexOf(document.activeElement);
    if (event.key === 'Escape' && search.contains(document.activeElement)) {
      found.hidden = true;
      field.focus();
    } else if (event.key === '/' && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      field.focus();
    } else if (event.key === 'Enter' && !found.hidden && document.activeElement === field) {
      links[0]?.click();
    } else if (event.key === 'ArrowDown' && !found.hidden && (at >= 0 || document.activeElement === field)) {
      event.preventDefault();
      links[Math.min(at + 1, links.length - 1)]?.focus();
    } else if (event.key === 'ArrowUp' && at >= 0) {
      event.preventDefault();
      (links[at - 1] ?? field).focus();
    }
  });
})();
