import { html, pageOf } from '../../platform/http/html.ts';
import { t } from '../../platform/i18n/messages.ts';

/** The page around the offerwall, in the language of the reader; its script fills it. */
export function renderPage({ style, scriptPath }: { style: string; scriptPath: string }): string {
  const title = t('endUser.offerwall.title');
  return pageOf({
    title,
    style,
    viewport: 'width=device-width, initial-scale=1, viewport-fit=cover',
    head: html`<script src="${scriptPath}" type="module"></script>\n`,
    body: html`<main id="wall">
<h1>${title}</h1>
<p class="status">${t('endUser.offerwall.loading')}</p>
<noscript><p class="status">${t('endUser.offerwall.needsScript')}</p></noscript>
</main>`,
  });
}
