// Fields of forms that need more than HTML has: lists to search and pick in, suggestions, and the grid of hours.
// Without this script a list is a text field with its values separated by commas, and the grid is made of boxes.

const split = (text) =>
  [...text.matchAll(/\s*"((?:[^"]|"")*)"\s*(?=[,\n]|$)|[^,\n]+/g)]
    .map(([whole, quoted]) => (quoted === undefined ? whole.trim() : quoted.replaceAll('""', '"')))
    .filter((item) => item !== '');

const join = (items) =>
  items.map((item) => (/[,\n]|^["\s]|\s$/.test(item) ? `"${item.replaceAll('"', '""')}"` : item)).join(', ');

function make(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** The choices that a text matches, as list items. */
async function choicesFor(source, text) {
  const answer = await fetch(`${source}&q=${encodeURIComponent(text)}`).catch(() => null);
  const holder = document.createElement('template');
  if (answer?.ok) holder.innerHTML = await answer.text();
  return [...holder.content.querySelectorAll('[data-value]')];
}

const isNamed = ({ value, text }, typed) => [value, text].some((known) => known.toLowerCase() === typed.toLowerCase());

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

  /** The search stays where it is: a field that is taken out of the page loses the focus. */
  function draw() {
    search.placeholder = values.length === 0 ? input.placeholder : '';
    search.hidden = isDisabled && values.length > 0;
    for (const shown of chips.querySelectorAll('.chip')) shown.remove();
    search.before(...values.map(chip));
  }

  function chip(value) {
    const text = labels.get(value) ?? value;
    const made = make('span', { class: unseen !== '' && text.endsWith(unseen) ? 'chip unseen' : 'chip' }, text);
    if (!isDisabled) {
      const remove = make('button', { type: 'button', 'aria-label': message('removeItem', { text }) }, '×');
      remove.addEventListener('click', () => {
        change(values.filter((one) => one !== value));
        search.focus();
      });
      made.append(remove);
    }
    return made;
  }

  function change(next) {
    values = [...new Set(next)];
    input.value = join(values);
    draw();
    input.dispatchEvent(new Event('input', { bubbles: true }));
  }

  /** The first match of what was typed; without a match, or after Escape, the text itself. */
  async function addFirstMatch() {
    const typed = search.value;
    const [first] = isDismissed ? [] : await matches(typed);
    if (search.value !== typed) return;
    if (first === undefined) await addTyped();
    else pick(first);
  }

  const matches = async (text) =>
    (await choicesFor(source, text)).filter(({ dataset }) => !values.includes(dataset.value));

  /** What was typed counts at once, and becomes the choice that it names as soon as that is known. */
  async function addTyped() {
    const typed = search.value.trim();
    search.value = '';
    close();
    if (typed === '') return;
    const added = split(typed);
    change([...values, ...added]);
    for (const one of added) {
      const named = (await choicesFor(source, one)).find(({ dataset }) => isNamed(dataset, one));
      if (named !== undefined) labels.set(named.dataset.value, named.dataset.text);
      else if (unseen !== '') labels.set(one, one + unseen);
      if (named !== undefined && named.dataset.value !== one)
        change(values.map((value) => (value === one ? named.dataset.value : value)));
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
    const own = ++latest;
    const typed = search.value.trim();
    const found = await matches(typed);
    if (own !== latest || document.activeElement !== search) return;
    if (isFree && typed !== '' && !found.some(({ dataset }) => isNamed(dataset, typed)))
      found.push(
        make(
          'li',
          { role: 'option', 'data-value': typed, 'data-text': typed, 'data-typed': '' },
          message('addItem', { text: typed }),
        ),
      );
    found.forEach((option, index) => {
      option.id = `${options.id}-${index}`;
      option.setAttribute('aria-selected', 'false');
    });
    options.replaceChildren(...found);
    options.hidden = found.length === 0;
    search.setAttribute('aria-expanded', String(found.length > 0));
    search.removeAttribute('aria-activedescendant');
    // What Enter takes.
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
    // Choices for what the field held before are none to take.
    close();
    if (search.value.endsWith(',')) addTyped();
    else searchSoon();
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
  // The field keeps the focus, so that it is not left before the choice is taken.
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

for (const input of document.querySelectorAll('input[data-picker]')) enhance(input);

/** Suggestions are fetched when their field is entered; rows are added later. */
document.addEventListener('focusin', async ({ target }) => {
  const source = target.dataset?.suggest;
  if (source === undefined || target.list?.children.length !== 0) return;
  const found = await choicesFor(source, '');
  target.list?.replaceChildren(...found.map(({ dataset }) => make('option', { value: dataset.value })));
});

/** Hours are painted with the mouse, and crossed with the arrow keys. */
for (const grid of document.querySelectorAll('[data-hour-grid]')) {
  const boxes = [...grid.querySelectorAll('input')];
  const hoursOfDay = 24;
  let painted = null;
  for (const box of boxes.slice(1)) box.tabIndex = -1;
  const paint = (target) => {
    if (painted !== null && boxes.includes(target)) target.checked = painted;
  };
  grid.addEventListener('pointerdown', (event) => {
    if (event.pointerType !== 'mouse' || event.button !== 0 || !boxes.includes(event.target)) return;
    painted = !event.target.checked;
    paint(event.target);
  });
  grid.addEventListener('pointerover', (event) => paint(event.target));
  // The press has set it already.
  grid.addEventListener('click', (event) => {
    if (event.pointerType === 'mouse' && boxes.includes(event.target)) event.preventDefault();
  });
  document.addEventListener('pointerup', () => {
    if (painted !== null) boxes[0].dispatchEvent(new Event('input', { bubbles: true }));
    painted = null;
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
