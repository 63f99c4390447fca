import { type Html, html } from '../../platform/http/html.ts';
import { publisherPath } from './context.ts';
import { icon } from './icons.ts';

/** Opens the search over everything; also `/` and Ctrl-K. Hidden until its script runs. */
export const finderButton: Html = html`
  <button type="button" class="finder-button" data-find="" hidden>
    ${icon('search')}<span>Search</span><kbd>/</kbd>
  </button>`;

const shortcuts = [
  ['/ or Ctrl-K', 'Search everything'],
  ['j, k or ↓, ↑', 'Next and previous row of a list'],
  ['Enter', 'Open the row'],
  ['?', 'These shortcuts'],
  ['Esc', 'Close'],
] as const;

/** The dialogs of the search and of the shortcuts (finder.js). */
export const finderDialogs = (publisherId: number | null): Html => html`
  <dialog class="finder" id="finder" aria-label="Search"
    data-url="${publisherId === null ? '/dashboard/find' : publisherPath(publisherId, '/find')}">
    <input type="search" role="combobox" aria-label="Search" aria-controls="found" aria-expanded="true"
      aria-autocomplete="list" autocomplete="off" spellcheck="false"
      placeholder="Campaign, offer, placement, id, user…">
    <div class="found" id="found" role="listbox" aria-label="Results"></div>
    <p class="hint" aria-live="polite" data-found-state></p>
  </dialog>
  <dialog id="shortcuts" aria-labelledby="shortcuts-title">
    <h2 id="shortcuts-title">Keyboard</h2>
    <dl class="description">
      ${shortcuts.map(([keys, text]) => html`<div><dt><kbd>${keys}</kbd></dt><dd>${text}</dd></div>`)}
    </dl>
    <form method="dialog" class="actions"><button class="button">Close</button></form>
  </dialog>`;
