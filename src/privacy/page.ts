import { type Html, html, nothing, pageOf, trusted } from '../platform/http/html.ts';
import { type MessageKey, t } from '../platform/i18n/messages.ts';

export type PrivacyPage = {
  publisherName: string;
  /** Publisher's own text, or empty for the standard text. */
  ownText: string;
  /** Retention periods in days: for sessions and events, for deliveries, and for codes without an expiry date. */
  rawDays: number;
  deliveryDays: number;
  rollupDays: number;
  /**
   * Retention of an e-mail address that messages could not be delivered to, in days. Null if no addresses are stored.
   */
  addressDays: number | null;
  style: string;
};

/**
 * Renders the privacy page for a publisher without a page of its own, in the reader's language. It shows the
 * publisher's text, or else which data is stored and how to make requests.
 */
export function renderPrivacyPage(page: PrivacyPage): string {
  const title = t('endUser.privacy.title');
  return pageOf({
    title,
    style: page.style,
    body: html`<main>
<h1>${title}</h1>
${page.ownText.trim() === '' ? standardText(page) : ownText(page.ownText)}
</main>`,
  });
}

/** Styles of the privacy page, in addition to those of all hosted pages. */
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

/** Converts plain text to markup, preserving its paragraphs and line breaks. */
function ownText(text: string): Html {
  const paragraphs = text
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => paragraph !== '');
  return html`${paragraphs.map((paragraph) => html`<p dir="auto">${paragraph.split('\n').map(lineOf)}</p>\n`)}`;
}

const lineOf = (line: string, index: number): Html => html`${index === 0 ? nothing : trusted('<br>')}${line}`;

function standardText(page: PrivacyPage): Html {
  const { publisherName, rawDays, deliveryDays, rollupDays, addressDays } = page;
  const fill = (key: MessageKey, count = rawDays): string =>
    t(key, { publisher: publisherName, count, longest: rollupDays });
  const days = fill('endUser.privacy.days');
  const rows: TableRow[] = [
    [fill('endUser.privacy.activity'), fill('endUser.privacy.activityPurpose'), days],
    [fill('endUser.privacy.identity'), fill('endUser.privacy.identityPurpose'), fill('endUser.privacy.identityKept')],
    [
      fill('endUser.privacy.attributes'),
      fill('endUser.privacy.attributesPurpose'),
      fill('endUser.privacy.attributesKept'),
    ],
    [t('endUser.privacy.saved'), t('endUser.privacy.savedPurpose'), fill('endUser.privacy.savedKept')],
    ...(addressDays === null ? [] : [emailRow(addressDays)]),
    [
      fill('endUser.privacy.messages'),
      t('endUser.privacy.messagesPurpose'),
      t('endUser.privacy.days', { count: deliveryDays }),
    ],
  ];
  const [data, purpose, retention] = [
    t('endUser.privacy.data'),
    t('endUser.privacy.purpose'),
    t('endUser.privacy.kept'),
  ];
  return html`
<p>${fill('endUser.privacy.intro')}</p>
<h2>${t('endUser.privacy.stored')}</h2>
<table>
<tr><th scope="col">${data}</th><th scope="col">${purpose}</th><th scope="col">${retention}</th></tr>
${rows.map((row) => rowOf(row, { purpose, retention }))}
</table>
<h2>${t('endUser.privacy.notStored')}</h2>
<p>${t('endUser.privacy.notStoredAddress')}</p>
${addressDays === null ? html`<p>${t('endUser.privacy.notStoredAsked')}</p>` : nothing}
<p>${t('endUser.privacy.notStoredDevice')}</p>
<h2>${t('endUser.privacy.choice')}</h2>
<p>${t('endUser.privacy.choiceSignal')}</p>
<p>${fill('endUser.privacy.choicePerks')}</p>
${addressDays === null ? nothing : html`<p>${t('endUser.privacy.choiceEmail')}</p>`}
<h2>${t('endUser.privacy.ask')}</h2>
<p>${fill('endUser.privacy.askText')}</p>
`;
}

type TableRow = readonly [what: string, purpose: string, kept: string];

const emailRow = (count: number): TableRow => [
  t('endUser.privacy.email'),
  t('endUser.privacy.emailPurpose'),
  t('endUser.privacy.emailKept', { count }),
];

const rowOf = ([what, purpose, retention]: TableRow, names: { purpose: string; retention: string }): Html =>
  html`<tr><td>${what}</td><td data-name="${names.purpose}">${purpose}</td>
<td data-name="${names.retention}">${retention}</td></tr>
`;
