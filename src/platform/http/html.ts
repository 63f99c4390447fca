import { languages } from '../i18n/languages.ts';
import { reader } from '../i18n/reader.ts';
import { escapeHtml } from '../lib/escape-html.ts';

/** Markup, which is inserted into templates without escaping. */
export type Html = { readonly markup: string };

/** Template value. Null, undefined and false produce no output. */
export type Value = Html | readonly Html[] | string | number | null | undefined | false;

/** Builds markup from a template literal. Values are escaped unless they are already markup. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return {
    markup: parts.map((part, index) => (index === 0 ? part : markupOf(values[index - 1] as Value) + part)).join(''),
  };
}

function markupOf(value: Value): string {
  if (value === null || value === undefined || value === false) return '';
  if (typeof value === 'string' || typeof value === 'number') return escapeHtml(String(value));
  return 'markup' in value ? value.markup : value.map((part) => part.markup).join('');
}

/** Marks a string as markup, so that it is not escaped. The string must be sanitised or hard-coded. */
export const trusted = (markup: string): Html => ({ markup });

export const nothing: Html = trusted('');

/** Creates markup that is rendered after the rest of its template. */
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

/** Renders a complete page with an inline style sheet, in the reader's language. */
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

/** Converts offer copy to plain text. The copy contains HTML escapes in macro values, which are decoded. */
export const plainText = (copy: string): string =>
  copy.replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => characters[entity] as string);
