import { type Html, trusted } from './html.ts';

/** Perkwire logo in the surrounding text colour, with details in the page's `--on-accent` colour. */
export const logo: Html = trusted(
  '<svg class="logo" viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">' +
    '<rect width="32" height="32" rx="9" fill="currentColor"/>' +
    '<path d="M9 17.5c5.5 0 6.5-7.5 14.5-8.5-1 8-6 12-11 11.5M9 23c1.8-4 5.5-7 9.5-9"' +
    ' fill="none" stroke="var(--on-accent)" stroke-width="2.2" stroke-linecap="round"/></svg>',
);
