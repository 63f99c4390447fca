// Behaviour of every dashboard page: character counters, confirmations, copy buttons, menu and messages.

const root = document.documentElement;
const messages = JSON.parse(root.dataset.messages);

/** A text of the section `browser` of the message files; by `count`, its form for this number. */
function message(key, values = {}) {
  const form = values.count === undefined ? '' : `_${new Intl.PluralRules(root.lang).select(values.count)}`;
  const text = messages[key + form] ?? messages[`${key}_other`] ?? messages[key];
  return text.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
}

/** Characters as the server counts them: code points, not UTF-16 units. */
const lengthOf = (text) => [...text].length;

function count(control) {
  const shown = document.getElementById(`${control.id}-count`);
  if (shown === null) return;
  const length = lengthOf(control.value);
  shown.querySelector('[data-count]').textContent = String(length);
  shown.classList.toggle('over', length > Number(control.dataset.max));
  shown.classList.toggle('long', control.dataset.ideal !== undefined && length > Number(control.dataset.ideal));
}

document.addEventListener('input', (event) => {
  if (event.target.dataset?.max !== undefined) count(event.target);
});

/** Asks for confirmation before a form is submitted that has `data-confirm`, or whose button has it. */
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
      button(confirmButton, isDanger ? 'button danger' : 'button main', confirmed),
    );
    dialog.setAttribute('aria-labelledby', title.id);
    dialog.append(title, text, actions);
    dialog.addEventListener('close', () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();

    function confirmed() {
      dialog.close();
      form.dataset.confirmed = '';
      form.requestSubmit(event.submitter);
      delete form.dataset.confirmed;
    }
  },
  true,
);

function button(text, className, act) {
  const made = document.createElement('button');
  made.type = 'button';
  made.className = className;
  made.textContent = text;
  made.addEventListener('click', act);
  return made;
}

/** Disables the buttons of a submitted form, so that it is submitted once. */
const resubmitMs = 8000;
document.addEventListener('submit', (event) => {
  if (event.defaultPrevented) return;
  for (const one of event.target.querySelectorAll('button:not([type="button"])'))
    setTimeout(() => {
      one.disabled = true;
    });
  setTimeout(() => {
    for (const one of event.target.querySelectorAll('button[disabled]')) one.disabled = false;
  }, resubmitMs);
});

/** Asks before the page is left while a form has edits that were not submitted. */
const edited = new Set();
document.addEventListener('input', (event) => {
  const form = event.target.form;
  if (form?.method === 'post' && form.id !== 'bulk' && form.closest('main') !== null) edited.add(form);
});
document.addEventListener('click', (event) => {
  const change = event.target.closest?.('button[name="_rows"]');
  if (change) edited.add(change.form);
});
document.addEventListener('submit', (event) => {
  if (!event.defaultPrevented) edited.delete(event.target);
});
window.addEventListener('beforeunload', (event) => {
  if ([...edited].some((form) => form.isConnected)) event.preventDefault();
});

/** Boxes that can be ticked only while another field of their form has a value. */
document.addEventListener('change', ({ target }) => {
  for (const box of target.form?.querySelectorAll(`[data-needs="${CSS.escape(target.name)}"]`) ?? [])
    box.disabled = target.value !== box.dataset.needsValue;
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
    const open = document.getElementById('sidebar').classList.toggle('open');
    menu.setAttribute('aria-expanded', String(open));
  }
});

/** One dropdown is open at a time; a click elsewhere and Escape close it. */
const closeDropdowns = (except) => {
  for (const open of document.querySelectorAll('details.dropdown[open]')) if (open !== except) open.open = false;
};
document.addEventListener('click', (event) => closeDropdowns(event.target.closest?.('details.dropdown')));
document.addEventListener('keydown', (event) => {
  const open = event.key === 'Escape' ? event.target.closest?.('details.dropdown[open]') : null;
  if (!open) return;
  open.open = false;
  open.querySelector('summary').focus();
});

/** Shows a message on the page. */
function toast(text, kind) {
  const made = document.createElement('div');
  made.className = `toast ${kind}`;
  made.dataset.toast = '';
  const words = document.createElement('p');
  words.textContent = text;
  made.append(words);
  document.querySelector('.toasts')?.append(made);
  removeLater(made);
}

const toastMs = 6000;
const removeLater = (shown) => setTimeout(() => shown.remove(), toastMs);

document.addEventListener('htmx:responseError', () => toast(message('requestFailed'), 'failed'));
document.addEventListener('htmx:sendError', () => toast(message('networkError'), 'failed'));

for (const control of document.querySelectorAll('[data-max]')) count(control);
for (const shown of document.querySelectorAll('.toast.done:not(:has(.undo))')) removeLater(shown);
// Not away from a field that is being filled in already.
if (document.activeElement === document.body) document.querySelector('[data-focus]')?.focus();

// Server-sent events: list items, added or replaced by id.
const maxItems = 50;
const refusedStreamMs = 10_000;
for (const list of document.querySelectorAll('[data-stream]')) {
  let source;
  const filter = list.parentElement.querySelector('[data-stream-filter]');
  const kind = list.parentElement.querySelector('[data-stream-kind]');
  const pause = list.parentElement.querySelector('[data-stream-pause]');
  /** The newest state of each item that came during a pause. */
  const held = new Map();
  const applyFilter = (item) => {
    const isKind = kind.value === '' || item.dataset.kind === kind.value;
    item.hidden = !isKind || !item.textContent.toLowerCase().includes(filter.value.trim().toLowerCase());
  };
  const applyFilters = () => [...list.children].forEach(applyFilter);
  const show = (item) => {
    applyFilter(item);
    const known = document.getElementById(item.id);
    if (known !== null) {
      if (known.querySelector('details[open]')) item.querySelector('details').open = true;
      known.replaceWith(item);
    } else list.prepend(item);
    while (list.children.length > maxItems) list.lastElementChild.remove();
    list.parentElement.querySelector('[data-waiting]')?.remove();
  };
  const receive = ({ data }) => {
    const holder = document.createElement('template');
    holder.innerHTML = data;
    const item = holder.content.firstElementChild;
    if (pause.getAttribute('aria-pressed') === 'false') return show(item);
    held.set(item.id, item);
    if (held.size > maxItems) held.delete(held.keys().next().value);
    pause.textContent = message('continueCount', { count: held.size });
  };
  const connect = () => {
    source = new EventSource(list.dataset.stream);
    source.addEventListener('item', receive);
    source.addEventListener('watching', () => {
      const waiting = list.parentElement.querySelector('[data-waiting-text]');
      if (waiting !== null) waiting.textContent = message('waitingForCall');
    });
    // One that ends is opened again by the browser; one that is refused, for want of room, is not.
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
    if (!isPaused) for (const item of held.values()) show(item);
    held.clear();
  });
  window.addEventListener('pagehide', () => source.close());
}
