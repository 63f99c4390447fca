import { type Html, html, nothing, pageOf, trusted } from '../platform/http/html.ts';

export type PrivacyPage = {
  publisherName: string;
  /** The publisher's own text, plain; empty: the standard text. */
  ownText: string;
  /** Retention of sessions and events, and of deliveries. */
  rawDays: number;
  deliveryDays: number;
};

/** The privacy page of a publisher without one of its own: its text, else what is stored and how to ask. */
export const renderPrivacyPage = (page: PrivacyPage): string =>
  pageOf({
    title: 'Offers and your privacy',
    style,
    body: html`<main>
<h1>Offers and your privacy</h1>
${page.ownText.trim() === '' ? standardText(page) : ownText(page.ownText)}
</main>`,
  });

const style = `:root{color-scheme:light dark}
body{font:16px/1.6 system-ui,sans-serif;margin:0;color:#1f2430;background:#fff}
main{max-width:40rem;margin:3rem auto;padding:0 1rem}
h1{font-size:1.5rem;line-height:1.25}
h2{font-size:1.1rem;margin-top:2rem}
a{color:#2347c5}
table{border-collapse:collapse;width:100%}
td,th{text-align:left;vertical-align:top;padding:.4rem .6rem .4rem 0;border-bottom:1px solid #8884}
@media(max-width:34rem){
tr,td{display:block}
tr{padding:.6rem 0;border-bottom:1px solid #8884}
td{padding:.1rem 0;border:0}
td:first-child{font-weight:600}
tr:first-child{display:none}
td+td::before{content:"Purpose: "}
td+td+td::before{content:"Kept for: "}
}
@media(prefers-color-scheme:dark){body{color:#e8eaf0;background:#15171c}a{color:#9db2ff}}`;

/** Plain text with its paragraphs and lines. */
function ownText(text: string): Html {
  const paragraphs = text
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => paragraph !== '');
  return html`${paragraphs.map((paragraph) => html`<p>${paragraph.split('\n').map(lineOf)}</p>\n`)}`;
}

const lineOf = (line: string, index: number): Html => html`${index === 0 ? nothing : trusted('<br>')}${line}`;

const standardText = ({ publisherName, rawDays, deliveryDays }: PrivacyPage): Html => html`
<p>${publisherName} shows you offers of its partners. This page says which data is stored for that, for how long, and
how to ask for it.</p>
<h2>What is stored</h2>
<table>
<tr><th scope="col">Data</th><th scope="col">Purpose</th><th scope="col">Kept for</th></tr>
<tr>
<td>Which offers you were shown, opened, saved or declined, when, and on what kind of device, with the country, region
and city of your network address</td>
<td>counting, and payment by partners</td>
<td>${rawDays} days</td>
</tr>
<tr>
<td>A number in place of your name, and the id by which ${publisherName} knows you</td>
<td>limiting how often you see an offer, respecting a “no thanks”, and passing your perks to ${publisherName}</td>
<td>${rawDays} days; a “no thanks” for as long as it applies</td>
</tr>
<tr>
<td>Data that ${publisherName} adds, such as an order number</td>
<td>returning it to ${publisherName} with a purchase you made</td>
<td>${rawDays} days</td>
</tr>
<tr><td>Offers you saved</td><td>showing them to you again</td><td>until you remove them</td></tr>
<tr><td>Messages about your choices to ${publisherName}</td><td>delivery</td><td>${deliveryDays} days</td></tr>
</table>
<h2>What is not stored</h2>
<p>Your network address: it is used to find the country you are in, and then discarded. You are not asked for an e-mail
address or a phone number. The offers store nothing on your device but what the page itself needs, and set no
cookies.</p>
<h2>Your choice</h2>
<p>If your browser sends the “Global Privacy Control” signal, you are shown offers without being recognised, and no
number is stored for you.</p>
<p>Perks you choose are passed to ${publisherName} only.</p>
<h2>How to ask</h2>
<p>To see the data stored about you, or to have it erased, ask ${publisherName}. An erasure is done within a minute
after ${publisherName} has requested it.</p>
`;
