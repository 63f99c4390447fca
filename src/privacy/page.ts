import { type Html, html, nothing, pageOf, trusted } from '../platform/http/html.ts';
import { fillMessage, type Language, languages, type Messages } from '../platform/messages/languages.ts';

export type PrivacyPage = {
  publisherName: string;
  /** The publisher's own text, plain; empty: the standard text. */
  ownText: string;
  /** Retention of sessions and events, and of deliveries. */
  rawDays: number;
  deliveryDays: number;
  language: Language;
  style: string;
};

/** The privacy page of a publisher without one of its own: its text, else what is stored and how to ask. */
export function renderPrivacyPage(page: PrivacyPage): string {
  const { title } = languages[page.language].privacy;
  return pageOf({
    title,
    language: page.language,
    style: page.style,
    body: html`<main>
<h1>${title}</h1>
${page.ownText.trim() === '' ? standardText(page) : ownText(page.ownText)}
</main>`,
  });
}

/** Rules of the page, over those of all hosted pages. */
export const rules = `
body{background:var(--surface);line-height:1.6}
main{max-width:44rem;margin:clamp(1.5rem,6vw,3rem) auto;padding:0 1rem}
h2{font-size:1.125rem;margin-top:2rem}
p{margin-top:1rem}
table{border-collapse:collapse;width:100%;margin-top:.5rem}
td,th{text-align:start;vertical-align:top;padding:.5rem .75rem .5rem 0;border-bottom:1px solid var(--line)}
th{color:var(--quiet);font-size:.875rem;font-weight:600}
td{min-width:6rem}
td+td::before{display:none;content:attr(data-name) ": ";color:var(--quiet)}
@media(max-width:34rem){
tr,td{display:block}
tr{padding:.625rem 0;border-bottom:1px solid var(--line)}
td{padding:.125rem 0;border:0}
td:first-child{font-weight:600}
td+td::before{display:inline}
tr:first-child{display:none}
}
`;

/** Plain text with its paragraphs and lines. */
function ownText(text: string): Html {
  const paragraphs = text
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => paragraph !== '');
  return html`${paragraphs.map((paragraph) => html`<p dir="auto">${paragraph.split('\n').map(lineOf)}</p>\n`)}`;
}

const lineOf = (line: string, index: number): Html => html`${index === 0 ? nothing : trusted('<br>')}${line}`;

function standardText({ publisherName, rawDays, deliveryDays, language }: PrivacyPage): Html {
  const { privacy } = languages[language];
  const fill = (text: string, count = rawDays): string => fillMessage(text, { publisher: publisherName, count });
  const rows: [string, string, string][] = [
    [privacy.activity, privacy.activityPurpose, privacy.days],
    [privacy.identity, privacy.identityPurpose, privacy.identityKept],
    [privacy.attributes, privacy.attributesPurpose, privacy.days],
    [privacy.saved, privacy.savedPurpose, privacy.savedKept],
    [privacy.messages, privacy.messagesPurpose, fill(privacy.days, deliveryDays)],
  ];
  return html`
<p>${fill(privacy.intro)}</p>
<h2>${privacy.stored}</h2>
<table>
<tr><th scope="col">${privacy.data}</th><th scope="col">${privacy.purpose}</th><th scope="col">${privacy.kept}</th></tr>
${rows.map((cells) => rowOf(privacy, cells.map((cell) => fill(cell)) as typeof cells))}
</table>
<h2>${privacy.notStored}</h2>
<p>${privacy.notStoredText}</p>
<h2>${privacy.choice}</h2>
<p>${privacy.choiceSignal}</p>
<p>${fill(privacy.choicePerks)}</p>
<h2>${privacy.ask}</h2>
<p>${fill(privacy.askText)}</p>
`;
}

const rowOf = (privacy: Messages['privacy'], [data, purpose, kept]: [string, string, string]): Html =>
  html`<tr><td>${data}</td><td data-name="${privacy.purpose}">${purpose}</td>
<td data-name="${privacy.kept}">${kept}</td></tr>
`;
