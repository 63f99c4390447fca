import { type Html, html, nothing, trusted } from '../http/html.ts';
import { style } from './style.ts';

/** The page around the offerwall; its script fills it. */
export const renderPage = (title: string, scriptPath: string): string =>
  frame(
    title,
    html`<script src="${scriptPath}" type="module"></script>`,
    html`<h1>${title}</h1><p class="status">Loading offers …</p><noscript><p class="status">This page needs JavaScript.</p></noscript>`,
  );

/** A page that says one thing. */
export const renderMessage = (title: string, text: string): string =>
  frame(title, nothing, html`<h1>${title}</h1><p class="status">${text}</p>`);

const frame = (title: string, script: Html, content: Html): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<title>${title}</title>
<style>${trusted(style)}</style>
${script}
</head>
<body>
<main id="wall">
${content}
</main>
</body>
</html>
`.markup;
