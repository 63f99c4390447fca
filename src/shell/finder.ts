import { type Html, html } from '../platform/http/html.ts';
import { t } from '../platform/i18n/messages.ts';
import { publisherPath } from './context.ts';
import { icon } from './icons.ts';

/** Opens the search over everything; also `/` and Ctrl-K. Hidden until its script runs. */
export const finderButton = (): Html => html`
  <button type="button" class="finder-button" data-find="" hidden>
    ${icon('search')}<span>${t('common.search')}</span><kbd>/</kbd>
  </button>`;

const shortcuts = [
  ['finder.searchKey', 'finder.search'],
  ['finder.rowsKey', 'finder.rows'],
  ['finder.openKey', 'finder.open'],
  ['finder.shortcutsKey', 'finder.shortcuts'],
  ['finder.closeKey', 'common.close'],
] as const;

/** The dialogs of the search and of the shortcuts (finder.js). */
export const finderDialogs = (publisherId: number | null): Html => html`
  <dialog class="finder" id="finder" aria-label="${t('common.search')}"
    data-url="${publisherId === null ? '/dashboard/find' : publisherPath(publisherId, '/find')}">
    <input type="search" role="combobox" aria-label="${t('common.search')}" aria-controls="found" aria-expanded="true"
      aria-autocomplete="list" autocomplete="off" spellcheck="false"
      placeholder="${t('browser.finderPlaceholder')}">
    <div class="found" id="found" role="listbox" aria-label="${t('finder.results')}"></div>
    <p class="hint" aria-live="polite" data-found-state></p>
  </dialog>
  <dialog id="shortcuts" aria-labelledby="shortcuts-title">
    <h2 id="shortcuts-title">${t('finder.keyboard')}</h2>
    <dl class="description">
      ${shortcuts.map(([keys, text]) => html`<div><dt><kbd>${t(keys)}</kbd></dt><dd>${t(text)}</dd></div>`)}
    </dl>
    <form method="dialog" class="actions"><button class="button">${t('common.close')}</button></form>
  </dialog>`;
