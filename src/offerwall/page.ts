import { html, trusted } from '../http/html.ts';
import { style } from './style.ts';

/** The page around the offerwall; its script fills it. */
export const renderPage = (title: string, scriptPath: string): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<title>${title}</title>
<style>${trusted(style)}</style>
<script src="${scriptPath}" type="module"></script>
</head>
<body>
<main id="wall">
<h1>${title}</h1><p class="status">Loading offers …</p><noscript><p class="status">This page needs JavaScript.</p></noscript>
</main>
</body>
</html>
`.markup;
