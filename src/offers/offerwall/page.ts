import { html, pageOf } from '../../platform/http/html.ts';
import { type Language, languages } from '../../platform/messages/languages.ts';

/** The page around the offerwall; its script fills it. */
export function renderPage({
  language,
  style,
  scriptPath,
}: {
  language: Language;
  style: string;
  scriptPath: string;
}): string {
  const { title, loading, needsScript } = languages[language].offerwall;
  return pageOf({
    title,
    language,
    style,
    viewport: 'width=device-width, initial-scale=1, viewport-fit=cover',
    head: html`<script src="${scriptPath}" type="module"></script>\n`,
    body: html`<main id="wall">
<h1>${title}</h1>
<p class="status">${loading}</p>
<noscript><p class="status">${needsScript}</p></noscript>
</main>`,
  });
}
