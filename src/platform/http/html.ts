import { languages } from '../i18n/languages.ts';
import { reader } from '../i18n/reader.ts';
import { escapeHtml } from '../lib/escape-html.ts';

/** Markup that may stand in a page as it is. */
export type Html = { readonly markup: string };

/** What may stand in a template; nothing is written for null, undefined and false. */
export type Value = Html | readonly Html[] | string | number | null | undefined | false;

/** Markup from a template. Whatever is put in is escaped, unless it is markup itself. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return {
    markup: parts.map((part, index) => (index === 0 ? part : markupOf(values[index - 1] as Value) + part)).join(''),
  };
}

function markupOf(value: Value): string {
  if (value === null || value === undefined || value === false) return '';
  if (typeof value === 'string' || typeof value === 'number') return escapeHtml(String(value));
  return 'markup' in value ? value.markup : value.map((one) => one.markup).join('');
}

/** Only for what was sanitised, or was written by us. */
export const trusted = (markup: string): Html => ({ markup });

export const nothing: Html = trusted('');

/** Markup that is made after all else that stands in its template. */
export const late = (make: () => Html): Html => ({
  get markup() {
    return make().markup;
  },
});

type PageParts = {
  title: string;
  style: string;
  body: Html;
  head?: Html;
  viewport?: string;
};

/** A page by itself, with its style inside, in the language of the reader. */
export function pageOf({ title, style, body, head = nothing, viewport = standardViewport }: PageParts): string {
  const { language, direction = languages[language].direction } = reader();
  return html`<!doctype html>
<html lang="${language}" dir="${direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="${viewport}">
<title>${title}</title>
<style>${trusted(style)}</style>
${head}</head>
<body>
${body}
</body>
</html>
`.markup;
}

const standardViewport = 'width=device-width, initial-scale=1';

const characters: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" };

/** Offer copy as plain text: values that filled its macros are HTML-escaped in it. */
export const plainText = (copy: string): string =>
  copy.replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => characters[entity] as string);
