// Behaviour of every dashboard page: character counters, confirmations, copy buttons, menu and messages.

const root = document.documentElement;
const messages = JSON.parse(root.dataset.messages);

/** Returns a text from the `browser` section of the message files. `values.count` selects the plural form. */
function message(key, values = {}) {
  const form = values.count === undefined ? '' : `_${new Intl.PluralRules(root.lang).select(values.count)}`;
  const text = messages[key + form] ?? messages[`${key}_other`] ?? messages[key];
  return text.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
}

/** Length in code points, as the server counts it, not in UTF-16 code units. */
const lengthOf = (text) => [...text].length;

function count(control) {
  const counter = document.getElementById(`${control.id}-count`);
  if (counter === null) return;
  const length = lengthOf(control.value);
  counter.querySelector('[data-count]').textContent = String(length);
  counter.classList.toggle('over', length > Number(control.dataset.max));
  counter.classList.toggle('long', control.dataset.ideal !== undefined && length > Number(control.dataset.ideal));
}

document.addEventListener('input', (event) => {
  if (event.target.dataset?.max !== undefined) count(event.target);
});

/** Asks for confirmation before submitting a form if the form or its submit button has `data-confirm`. */
document.addEventListener(
  'submit',
  (event) => {
    const form = event.target;
    const { confirm: question, confirmButton = message('continue') } = event.submitter?.dataset.confirm
      ? event.submitter.dataset
      : form.dataset;
    if (question === undefined || form.dataset.confirmed !== undefined) return;
    const isDanger = event.submitter?.classList.contains('danger');
    event.preventDefault();
    event.stopImmediatePropagation();
    const dialog = document.createElement('dialog');
    const title = document.createElement('h2');
    title.id = 'confirm-title';
    title.textContent = message('confirmTitle', { action: confirmButton });
    const text = document.createElement('p');
    text.textContent = question;
    const actions = document.createElement('div');
    actions.className = 'actions';
    actions.append(
      button(message('cancel'), 'button quiet', () => dialog.close()),
      button(confirmButton, isDanger ? 'button danger' : 'button main', submitConfirmed),
    );
    dialog.setAttribute('aria-labelledby', title.id);
    dialog.append(title, text, actions);
    dialog.addEventListener('close', () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();

    function submitConfirmed() {
      dialog.close();
      form.dataset.confirmed = '';
      form.requestSubmit(event.submitter);
      delete form.dataset.confirmed;
    }
  },
  true,
);

function button(text, className, onClick) {
  const element = document.createElement('button');
  element.type = 'button';
  element.className = className;
  element.textContent = text;
  element.addEventListener('click', onClick);
  return element;
}

/**
 * Replaces the history entry of a page that was the response to a rejected form by the page of the form. Otherwise, the
 * browser would show an error when the user goes back to it.
 */
function replaceEntry() {
  for (const form of document.querySelectorAll('form[data-keep]')) {
    const page = form.dataset.page || form.dataset.keep;
    if (page && form.getAttribute('action') === location.pathname) history.replaceState(history.state, '', page);
  }
}
document.addEventListener('submit', replaceEntry);
document.addEventListener('click', ({ target }) => {
  if (target.closest?.('a[href]')) replaceEntry();
});

/**
 * How long the buttons of a submitted form stay disabled, in milliseconds, so that it is not submitted twice. On a slow
 * connection, a file takes longer.
 */
const resubmitMs = 8000;
const resubmitFileMs = 120_000;
const hasFile = (form) => [...form.querySelectorAll('input[type="file"]')].some(({ files }) => files.length > 0);

/** Disables the buttons of a form while it is being sent, which the pressed one shows, or enables them again. */
function setSending(form, submitter, isSending) {
  for (const submit of form.querySelectorAll(isSending ? 'button:not([type="button"])' : 'button[disabled]'))
    submit.disabled = isSending;
  submitter?.toggleAttribute('data-sending', isSending && form.dataset.download === undefined);
}
document.addEventListener('submit', (event) => {
  const { target: form, submitter } = event;
  if (event.defaultPrevented) return;
  // Disable the buttons after the browser has read the form, which contains the name of the pressed one.
  setTimeout(() => setSending(form, submitter, true));
  setTimeout(() => setSending(form, submitter, false), hasFile(form) ? resubmitFileMs : resubmitMs);
  // The Back button may show the page as it was left.
  addEventListener('pageshow', () => setSending(form, submitter, false), { once: true });
});

/** Forms with unsaved edits. The browser asks for confirmation before it leaves the page. */
const edited = new Set();
document.addEventListener('input', (event) => {
  const form = event.target.form;
  if (form?.method === 'post' && form.id !== 'bulk' && form.closest('main') !== null) edited.add(form);
});
document.addEventListener('click', (event) => {
  const rowButton = event.target.closest?.('button[name="_rows"]');
  if (rowButton) edited.add(rowButton.form);
});
document.addEventListener('submit', (event) => {
  if (!event.defaultPrevented) edited.delete(event.target);
});
window.addEventListener('beforeunload', (event) => {
  if ([...edited].some((form) => form.isConnected)) event.preventDefault();
});

/** Shows or hides the fields of a section in a long form. */
function showSection(section, isOpen) {
  section.classList.toggle('shut', !isOpen);
  section.querySelector('legend > button').setAttribute('aria-expanded', String(isOpen));
}

/** Shows the collapsed section that contains an element. */
const expand = (element) => {
  const section = element?.closest('fieldset.shut');
  if (section) showSection(section, true);
};

/** Closes the sections of long forms on small screens, except the first one and those with errors or a link target. */
function collapseSections() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (const index of document.querySelectorAll('nav.sections')) {
    index.hidden = true;
    const ids = [...index.querySelectorAll('a')].map(({ hash }) => decodeURIComponent(hash.slice(1)));
    for (const [position, id] of ids.entries()) {
      const section = document.getElementById(id);
      const legend = section.querySelector('legend');
      const toggle = button(legend.textContent, 'section-toggle', () =>
        showSection(section, section.classList.contains('shut')),
      );
      legend.replaceChildren(toggle);
      const hasError = section.querySelector('.field-error') !== null;
      showSection(section, position === 0 || hasError || (target !== null && section.contains(target)));
    }
  }
}
if (matchMedia('(max-width: 48rem)').matches) collapseSections();
document.addEventListener('input', ({ target }) => expand(target));
document.addEventListener('click', ({ target }) => {
  const link = target.closest?.('a[href^="#"]');
  if (link) expand(document.getElementById(decodeURIComponent(link.hash.slice(1))));
});

/** Enables checkboxes with `data-needs` only while the field of that name has the value in `data-needs-value`. */
document.addEventListener('change', ({ target }) => {
  for (const box of target.form?.querySelectorAll(`[data-needs="${CSS.escape(target.name)}"]`) ?? [])
    box.disabled = target.value !== box.dataset.needsValue;
});

/**
 * In a field with a fixed list, such as a time zone, Enter selects the first entry that contains the typed text
 * instead of submitting the form. It submits the form if the text is an entry already, or matches none.
 */
document.addEventListener('keydown', (event) => {
  const { target: field } = event;
  if (event.key !== 'Enter' || !field.list || field.dataset.suggest !== undefined || field.value.trim() === '') return;
  const typed = field.value.trim().toLowerCase().replaceAll(' ', '_');
  const texts = ({ value, label }) => [value, label.replaceAll(' ', '_')].map((text) => text.toLowerCase());
  const options = [...field.list.options];
  if (options.some(({ value }) => value === field.value)) return;
  const match = options.find((option) => texts(option).some((text) => text.includes(typed)));
  if (match === undefined) return;
  event.preventDefault();
  field.value = match.value;
  field.dispatchEvent(new Event('input', { bubbles: true }));
});

document.addEventListener('change', ({ target }) => {
  const name = target.dataset?.selectAll;
  if (name === undefined) return;
  for (const box of document.querySelectorAll(`input[name="${name}"][form="${target.form.id}"]`))
    box.checked = target.checked;
});

document.addEventListener('click', async (event) => {
  const copy = event.target.closest?.('[data-copy]');
  if (copy) {
    const text = copy.parentElement.querySelector('code').textContent;
    await navigator.clipboard.writeText(text).then(
      () => {
        copy.textContent = message('copied');
      },
      () => {
        getSelection().selectAllChildren(copy.parentElement.querySelector('code'));
      },
    );
    setTimeout(() => {
      copy.textContent = message('copy');
    }, 2000);
  }
  event.target.closest?.('[data-dismiss]')?.closest('[data-toast]')?.remove();
  const menu = event.target.closest?.('[data-menu]');
  if (menu) {
    showMenu(menu.getAttribute('aria-expanded') === 'false');
  }
});

/**
 * Scrolls the sidebar to the entry of the open page. In contrast to `scrollIntoView`, this does not change which
 * element the Tab key focuses first.
 */
function showOpenPage() {
  const sidebar = document.getElementById('sidebar');
  const entry = sidebar?.querySelector('[aria-current="page"]');
  if (!entry) return;
  const marginPx = 16;
  const hiddenPx = entry.getBoundingClientRect().bottom + marginPx - sidebar.getBoundingClientRect().bottom;
  if (hiddenPx > 0) sidebar.scrollTop += hiddenPx;
}

/** Scrolls tabs that do not fit on the screen to the tab of the open page. */
function showOpenTab() {
  for (const tab of document.querySelectorAll('.tabs [aria-current]')) {
    const list = tab.parentElement;
    const [outer, inner] = [list.getBoundingClientRect(), tab.getBoundingClientRect()];
    list.scrollLeft += inner.left - outer.left - (outer.width - inner.width) / 2;
  }
}

/** Opens or closes the menu of small screens. */
function showMenu(isOpen) {
  document.getElementById('sidebar').classList.toggle('open', isOpen);
  document.querySelector('[data-menu]').setAttribute('aria-expanded', String(isOpen));
  if (isOpen) showOpenPage();
}
document.addEventListener('keydown', ({ key }) => {
  const menu = key === 'Escape' ? document.querySelector('[data-menu][aria-expanded="true"]') : null;
  if (!menu || document.querySelector('dialog[open]')) return;
  showMenu(false);
  menu.focus();
});

/** Closes all dropdowns except one. Only one dropdown is open at a time; Escape or a click elsewhere closes it. */
const closeDropdowns = (except) => {
  for (const dropdown of document.querySelectorAll('details.dropdown[open]'))
    if (dropdown !== except) dropdown.open = false;
};
document.addEventListener('click', (event) => closeDropdowns(event.target.closest?.('details.dropdown')));
document.addEventListener('keydown', (event) => {
  const dropdown = event.key === 'Escape' ? event.target.closest?.('details.dropdown[open]') : null;
  if (!dropdown) return;
  dropdown.open = false;
  dropdown.querySelector('summary').focus();
});

/** Shows a message on the page for 6 seconds. */
function toast(text, kind) {
  const element = document.createElement('div');
  element.className = `toast ${kind}`;
  element.dataset.toast = '';
  const paragraph = document.createElement('p');
  paragraph.textContent = text;
  element.append(paragraph);
  document.querySelector('.toasts')?.append(element);
  removeLater(element);
}

const toastMs = 6000;
const removeLater = (element) => setTimeout(() => element.remove(), toastMs);

document.addEventListener('htmx:responseError', () => toast(message('requestFailed'), 'failed'));
document.addEventListener('htmx:sendError', () => toast(message('networkError'), 'failed'));

for (const control of document.querySelectorAll('[data-max]')) count(control);
// Wait for the other scripts, which show the search button and the pinned pages above the navigation.
document.addEventListener('DOMContentLoaded', showOpenPage);
showOpenTab();
for (const element of document.querySelectorAll('.toast.done:not(:has(.undo))')) removeLater(element);
// Do not take the focus away from a field that the user is already filling in.
if (document.activeElement === document.body) document.querySelector('[data-focus]')?.focus();

// Live lists: each server-sent event is a list item, which is added or replaces the item with the same ID.
const maxItems = 50;
const refusedStreamMs = 10_000;
for (const list of document.querySelectorAll('[data-stream]')) {
  let source;
  const filter = list.parentElement.querySelector('[data-stream-filter]');
  const kind = list.parentElement.querySelector('[data-stream-kind]');
  const pause = list.parentElement.querySelector('[data-stream-pause]');
  /** Latest version of each item received during a pause, by element ID. */
  const pausedItems = new Map();
  const applyFilter = (item) => {
    const isKind = kind.value === '' || item.dataset.kind === kind.value;
    item.hidden = !isKind || !item.textContent.toLowerCase().includes(filter.value.trim().toLowerCase());
  };
  const applyFilters = () => [...list.children].forEach(applyFilter);
  const show = (item) => {
    applyFilter(item);
    const previous = document.getElementById(item.id);
    if (previous !== null) {
      if (previous.querySelector('details[open]')) item.querySelector('details').open = true;
      previous.replaceWith(item);
    } else list.prepend(item);
    while (list.children.length > maxItems) list.lastElementChild.remove();
    list.parentElement.querySelector('[data-waiting]')?.remove();
  };
  const receive = ({ data }) => {
    const holder = document.createElement('template');
    holder.innerHTML = data;
    const item = holder.content.firstElementChild;
    if (pause.getAttribute('aria-pressed') === 'false') return show(item);
    pausedItems.set(item.id, item);
    if (pausedItems.size > maxItems) pausedItems.delete(pausedItems.keys().next().value);
    pause.textContent = message('continueCount', { count: pausedItems.size });
  };
  const connect = () => {
    source = new EventSource(list.dataset.stream);
    source.addEventListener('item', receive);
    source.addEventListener('watching', () => {
      const waiting = list.parentElement.querySelector('[data-waiting-text]');
      if (waiting !== null) waiting.textContent = message('waitingForCall');
    });
    // The browser reconnects if a stream ends, but not if the server rejects it because too many are open.
    source.addEventListener('error', () => {
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, refusedStreamMs);
    });
  };
  connect();
  filter.addEventListener('input', applyFilters);
  kind.addEventListener('change', applyFilters);
  pause.addEventListener('click', () => {
    const isPaused = pause.getAttribute('aria-pressed') === 'false';
    pause.setAttribute('aria-pressed', String(isPaused));
    pause.textContent = message(isPaused ? 'continue' : 'pause');
    if (!isPaused) for (const item of pausedItems.values()) show(item);
    pausedItems.clear();
  });
  window.addEventListener('pagehide', () => source.close());
}
