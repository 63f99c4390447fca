import { Marked, type Tokens } from 'marked';
import { escapeHtml } from '../../platform/lib/escape-html.ts';
import { renderCode } from '../site/highlight.ts';
import { addressOf, exampleHosts } from './addresses.ts';

/** Values that replace those in documentation examples: the host, and in the demo also the keys. */
export type Own = {
  publicUrl: string;
  /** Whether the example keys are valid on this server. */
  isDemo: boolean;
};

/** Heading with the text below it, for the search index. */
type Section = { id: string; title: string; depth: number; text: string };

export type Rendered = { title: string; markup: string; sections: Section[] };

/**
 * Renders one of this package's Markdown documents. HTML in the document is not escaped, because only the package's own
 * files are rendered.
 * @param file path relative to the package root, for resolving links
 */
export function renderMarkdown(markdown: string, file: string, { publicUrl, isDemo }: Own): Rendered {
  const sections: Section[] = [];
  const ids = new Map<string, number>();
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }: Tokens.Heading) {
        const markup = this.parser.parseInline(tokens);
        const id = uniqueId(anchorOf(text), ids);
        sections.push({ id, title: plain(markup), depth, text: '' });
        if (depth === 1) return `<h1 id="${id}">${markup}</h1>\n`;
        const label = escapeHtml(`Link to “${plain(markup)}”`);
        const link = `<a class="anchor" href="#${id}" aria-label="${label}">#</a>`;
        return `<h${depth} id="${id}">${markup} ${link}</h${depth}>\n`;
      },
      code: ({ text, lang = '' }: Tokens.Code) => renderCode(text, lang, isDemo),
      table({ header, rows }: Tokens.Table) {
        const row = (cells: Tokens.TableCell[], start: string, end: string) =>
          `<tr>${cells.map(({ tokens }) => start + this.parser.parseInline(tokens) + end).join('')}</tr>`;
        // Use plain cells for empty headings, which screen readers would otherwise announce.
        const headings = row(header, '<th scope="col">', '</th>').replaceAll('<th scope="col"></th>', '<td></td>');
        const head = `<thead>${headings}</thead>`;
        const body = `<tbody>${rows.map((cells) => row(cells, '<td>', '</td>')).join('')}</tbody>`;
        return `<div class="table" role="group" aria-label="Table" tabindex="0"><table>${head}${body}</table></div>\n`;
      },
      link({ href, tokens }: Tokens.Link) {
        const text = this.parser.parseInline(tokens);
        const target = addressOf(href, file);
        return target === null ? text : `<a href="${escapeHtml(target)}">${text}</a>`;
      },
      image: ({ href, text }: Tokens.Image) =>
        `<img src="${escapeHtml(addressOf(href, file) ?? href)}" alt="${escapeHtml(text)}" loading="lazy">`,
    },
  });
  const markup = marked.parse(markdown, { async: false }).replace(exampleHosts, escapeHtml(publicUrl));
  addTexts(sections, markup);
  return { title: sections[0]?.title ?? file, markup, sections };
}

/** Returns the same heading anchor as GitHub, so that links between documents work in both places. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\- ]/gu, '')
    .replaceAll(' ', '-');

/** Makes repeated anchors unique by numbering them. */
function uniqueId(anchor: string, ids: Map<string, number>): string {
  const before = ids.get(anchor) ?? 0;
  ids.set(anchor, before + 1);
  return before === 0 ? anchor : `${anchor}-${before}`;
}

const plain = (markup: string): string =>
  markup
    .replace(/<a class="anchor".*?<\/a>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, '&')
    .replace(/\s+/g, ' ')
    .trim();

function addTexts(sections: Section[], markup: string): void {
  const parts = markup.split(/<h[1-6] id="[^"]*">.*?<\/h[1-6]>/s).slice(1);
  parts.forEach((part, index) => {
    const section = sections[index];
    if (section !== undefined) section.text = plain(part);
  });
}
