import { html, pageOf } from '../../platform/http/html.ts';
import { style } from './style.ts';

/** The page around the offerwall; its script fills it. */
export const renderPage = (title: string, scriptPath: string): string =>
  pageOf({
    title,
    style,
    viewport: 'width=device-width, initial-scale=1, viewport-fit=cover',
    head: html`<script src="${scriptPath}" type="module"></script>\n`,
    body: html`<main id="wall">
<h1>${title}</h1>
<p class="status">Loading offers …</p>
<noscript><p class="status">This page needs JavaScript.</p></noscript>
</main>`,
  });
