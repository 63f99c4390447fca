// Form fields that HTML does not offer: searchable multi-selects, suggestions and the hour grid.
// Without this script, a multi-select is a text field with comma-separated values, and the hour grid is a set of
// checkboxes.

const split = (text) =>
  [...text.matchAll(/\s*"((?:[^"]|"")*)"\s*(?=[,\n]|$)|[^,\n]+/g)]
    .map(([whole, quoted]) => (quoted === undefined ? whole.trim() : quoted.replaceAll('""', '"')))
    .filter((item) => item !== '');

const join = (items) =>
  items.map((item) => (/[,\n]|^["\s]|\s$/.test(item) ? `"${item.replaceAll('"', '""')}"` : item)).join(', ');

function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** Fetches the options that match a text, as list items. Returns none if the request fails. */
async function choicesFor(source, text) {
  const response = await fetch(`${source}&q=${encodeURIComponent(text)}`).catch(() => null);
  const template = document.createElement('template');
  if (response?.ok) template.innerHTML = await response.text();
  return [...template.content.querySelectorAll('[data-value]')];
}

const isNamed = ({ value, text }, typed) => [value, text].some((name) => name.toLowerCase() === typed.toLowerCase());

const searchMs = 120;

function enhance(input) {
  const { picker: source, unseen } = input.dataset;
  const labels = new Map(Object.entries(JSON.parse(input.dataset.labels)));
  let values = split(input.value);
  const id = input.id;
  const options = make('ul', { role: 'listbox', id: `${id}-options`, class: 'options', hidden: '' });
  const search = make('input', {
    type: 'text',
    id,
    role: 'combobox',
    autocomplete: 'off',
    'aria-autocomplete': 'list',
    'aria-expanded': 'false',
    'aria-controls': options.id,
  });
  for (const name of ['aria-describedby', 'aria-invalid'])
    if (input.hasAttribute(name)) search.setAttribute(name, input.getAttribute(name));
  const chips = make('div', { class: 'chips' });
  const box = make('div', { class: 'picker' }, chips, options);
  const label = document.querySelector(`label[for="${id}"]`)?.textContent ?? message('list');
  options.setAttribute('aria-label', `${label}: choices`);
  input.removeAttribute('id');
  input.hidden = true;
  input.after(box);
  const isFree = input.dataset.free !== undefined;
  const isDisabled = input.matches(':disabled');

  /** Redraws the chips around the search field. The field itself is not moved, because it would lose the focus. */
  function draw() {
    search.placeholder = values.length === 0 ? input.placeholder : '';
    search.hidden = isDisabled && values.length > 0;
    for (const element of chips.querySelectorAll('.chip')) element.remove();
    search.before(...values.map(chip));
  }

  function chip(value) {
    const text = labels.get(value) ?? value;
    const element = make('span', { class: unseen !== '' && text.endsWith(unseen) ? 'chip unseen' : 'chip' }, text);
    if (!isDisabled) {
      const remove = make('button', { type: 'button', 'aria-label': message('removeItem', { text }) }, '×');
      remove.addEventListener('click', () => {
        change(values.filter((other) => other !== value));
        search.focus();
      });
      element.append(remove);
    }
    return element;
  }

  function change(next) {
    values = [...new Set(next)];
    input.value = join(values);
    draw();
    input.dispatchEvent(new Event('input', { bubbles: true }));
  }

  /** Adds the first match for the typed text. Without a match, or after Escape, adds the text itself. */
  async function addFirstMatch() {
    const typed = search.value;
    const [first] = isDismissed ? [] : await matches(typed);
    if (search.value !== typed) return;
    if (first === undefined) await addTyped();
    else pick(first);
  }

  const matches = async (text) =>
    (await choicesFor(source, text)).filter(({ dataset }) => !values.includes(dataset.value));

  /** Adds the typed text immediately, and replaces it with the option of that name once the search has returned. */
  async function addTyped() {
    const typed = search.value.trim();
    search.value = '';
    close();
    if (typed === '') return;
    const added = split(typed);
    change([...values, ...added]);
    for (const text of added) {
      const option = (await choicesFor(source, text)).find(({ dataset }) => isNamed(dataset, text));
      if (option !== undefined) labels.set(option.dataset.value, option.dataset.text);
      else if (unseen !== '') labels.set(text, text + unseen);
      if (option !== undefined && option.dataset.value !== text)
        change(values.map((value) => (value === text ? option.dataset.value : value)));
      else draw();
    }
  }

  function pick({ dataset: { value, text, typed } }) {
    labels.set(value, typed === undefined ? text : text + unseen);
    search.value = '';
    change([...values, value]);
    close();
  }

  let latest = 0;
  let timer;
  let isDismissed = false;
  function searchSoon() {
    clearTimeout(timer);
    timer = setTimeout(open, searchMs);
  }
  async function open() {
    const requestNumber = ++latest;
    const typed = search.value.trim();
    const choices = await matches(typed);
    if (requestNumber !== latest || document.activeElement !== search) return;
    if (isFree && typed !== '' && !choices.some(({ dataset }) => isNamed(dataset, typed)))
      choices.push(
        make(
          'li',
          { role: 'option', 'data-value': typed, 'data-text': typed, 'data-typed': '' },
          message('addItem', { text: typed }),
        ),
      );
    choices.forEach((option, index) => {
      option.id = `${options.id}-${index}`;
      option.setAttribute('aria-selected', 'false');
    });
    options.replaceChildren(...choices);
    options.hidden = choices.length === 0;
    search.setAttribute('aria-expanded', String(choices.length > 0));
    search.removeAttribute('aria-activedescendant');
    // Enter selects this option.
    if (typed !== '') move(1);
  }
  function close() {
    clearTimeout(timer);
    latest += 1;
    options.replaceChildren();
    options.hidden = true;
    search.setAttribute('aria-expanded', 'false');
    search.removeAttribute('aria-activedescendant');
  }

  const active = () => options.querySelector('[aria-selected="true"]');
  function move(step) {
    const all = [...options.children];
    if (options.hidden || all.length === 0) return;
    const next =
      all[(all.indexOf(active()) + step + all.length + (active() === null && step < 0 ? 1 : 0)) % all.length];
    active()?.setAttribute('aria-selected', 'false');
    next.setAttribute('aria-selected', 'true');
    next.scrollIntoView({ block: 'nearest' });
    search.setAttribute('aria-activedescendant', next.id);
  }

  search.addEventListener('input', (event) => {
    event.stopPropagation();
    isDismissed = false;
    // Options for the previous text must not be selectable.
    close();
    if (search.value.endsWith(',')) addTyped();
    else searchSoon();
  });
  // A text field drops line breaks, so a pasted list is split before.
  search.addEventListener('paste', (event) => {
    const pasted = event.clipboardData.getData('text');
    if (!/[,\n]/.test(pasted.trim())) return;
    event.preventDefault();
    search.value += pasted.replaceAll(/\s*[\r\n]+\s*/g, ', ');
    addTyped();
  });
  search.addEventListener('change', (event) => event.stopPropagation());
  search.addEventListener('focus', searchSoon);
  search.addEventListener('blur', addTyped);
  search.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      move(event.key === 'ArrowDown' ? 1 : -1);
    } else if (event.key === 'Enter' && (active() !== null || search.value.trim() !== '')) {
      event.preventDefault();
      if (active() !== null) pick(active());
      else addFirstMatch();
    } else if (event.key === 'Escape') {
      isDismissed = true;
      close();
    } else if (event.key === 'Backspace' && search.value === '' && values.length > 0) change(values.slice(0, -1));
  });
  // Keep the focus in the field: its blur handler would add the typed text before the click selects an option.
  options.addEventListener('pointerdown', (event) => event.preventDefault());
  options.addEventListener('click', (event) => {
    const option = event.target.closest('[data-value]');
    if (option !== null) pick(option);
  });
  chips.addEventListener('click', (event) => {
    if (event.target === chips) search.focus();
  });
  chips.append(search);
  draw();
}

for (const input of document.querySelectorAll('[data-picker]')) enhance(input);

/** Fetches suggestions when a field gets the focus. Listening on the document includes rows that are added later. */
document.addEventListener('focusin', async ({ target }) => {
  const source = target.dataset?.suggest;
  if (source === undefined || target.list?.children.length !== 0) return;
  const choices = await choicesFor(source, '');
  target.list?.replaceChildren(
    ...choices.map(({ dataset }) => make('option', { value: dataset.value, label: dataset.text })),
  );
});

/** Hour grid: dragging the mouse selects a rectangle of hours, and the arrow keys move between them. */
for (const grid of document.querySelectorAll('[data-hour-grid]')) {
  const boxes = [...grid.querySelectorAll('input')];
  const hoursOfDay = 24;
  /** Value and first hour of the rectangle that is being drawn, with the state of all hours before. */
  let drawing = null;
  for (const box of boxes.slice(1)) box.tabIndex = -1;
  const isBetween = (value, a, b) => value >= Math.min(a, b) && value <= Math.max(a, b);
  const paint = (target) => {
    const to = boxes.indexOf(target);
    if (drawing === null || to < 0) return;
    const { value, from, before } = drawing;
    const dayOf = (index) => Math.floor(index / hoursOfDay);
    for (const [index, box] of boxes.entries()) {
      const isInside =
        isBetween(dayOf(index), dayOf(from), dayOf(to)) &&
        isBetween(index % hoursOfDay, from % hoursOfDay, to % hoursOfDay);
      box.checked = isInside ? value : before[index];
    }
  };
  grid.addEventListener('pointerdown', (event) => {
    if (event.pointerType !== 'mouse' || event.button !== 0 || !boxes.includes(event.target)) return;
    drawing = {
      value: !event.target.checked,
      from: boxes.indexOf(event.target),
      before: boxes.map(({ checked }) => checked),
    };
    paint(event.target);
  });
  grid.addEventListener('pointerover', (event) => paint(event.target));
  // The pointerdown handler has already changed the checkbox.
  grid.addEventListener('click', (event) => {
    if (event.pointerType === 'mouse' && boxes.includes(event.target)) event.preventDefault();
  });
  document.addEventListener('pointerup', () => {
    if (drawing !== null) boxes[0].dispatchEvent(new Event('input', { bubbles: true }));
    drawing = null;
  });
  const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: hoursOfDay, ArrowUp: -hoursOfDay };
  grid.addEventListener('keydown', (event) => {
    const next = boxes[boxes.indexOf(event.target) + (steps[event.key] ?? Number.NaN)];
    if (next === undefined) return;
    event.preventDefault();
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
}
