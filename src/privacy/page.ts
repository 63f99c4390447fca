import { type Html, html, nothing, pageOf, trusted } from '../platform/http/html.ts';

/** What the page says beside its own words. */
export type PrivacyPage = {
  publisherName: string;
  /** The publisher's own words, plain text; empty: the service's. */
  ownText: string;
  /** How long sessions and events, and deliveries, are kept. */
  rawDays: number;
  deliveryDays: number;
};

/**
 * What `privacy_url` shows where the publisher has no page of its own: its text, else one that says what is kept and
 * how to ask.
 */
export const renderPrivacyPage = (page: PrivacyPage): string =>
  pageOf({
    title: 'Offers and your privacy',
    style,
    body: html`<main>
<h1>Offers and your privacy</h1>
${page.ownText.trim() === '' ? standardText(page) : ownText(page.ownText)}
</main>`,
  });

const style = `:root{color-scheme:light dark}body{font:16px/1.6 system-ui,sans-serif;margin:0;color:#1f2430;background:#fff}
main{max-width:40rem;margin:3rem auto;padding:0 1rem}h1{font-size:1.5rem;line-height:1.25}h2{font-size:1.1rem;margin-top:2rem}a{color:#2347c5}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.4rem .6rem .4rem 0;border-bottom:1px solid #8884}
@media(max-width:34rem){tr,td{display:block}tr{padding:.6rem 0;border-bottom:1px solid #8884}td{padding:.1rem 0;border:0}td:first-child{font-weight:600}tr:first-child{display:none}
td+td::before{content:"What for: "}td+td+td::before{content:"How long: "}}
@media(prefers-color-scheme:dark){body{color:#e8eaf0;background:#15171c}a{color:#9db2ff}}`;

/** Shown as text, with its paragraphs and lines. */
function ownText(text: string): Html {
  const paragraphs = text.split(/\n\s*\n/).map((paragraph) => paragraph.trim());
  return html`${paragraphs.filter((paragraph) => paragraph !== '').map((paragraph) => html`<p>${paragraph.split('\n').map((line, index) => html`${index === 0 ? nothing : trusted('<br>')}${line}`)}</p>\n`)}`;
}

const standardText = ({ publisherName, rawDays, deliveryDays }: PrivacyPage): Html => html`
<p>${publisherName} shows you offers of its partners. This page says what is kept when it does, for how long, and how to ask for it.</p>
<h2>What is kept</h2>
<table>
<tr><th scope="col">What</th><th scope="col">What for</th><th scope="col">How long</th></tr>
<tr><td>Which offers you were shown, opened, saved or declined, when, and on what kind of device, with the country, region and city of your network address</td>
<td>to count, and to be paid by partners</td><td>${rawDays} days</td></tr>
<tr><td>A number in place of your name, and the number ${publisherName} knows you by</td>
<td>to not show you the same offer too often, to respect a “no thanks”, and to hand your perks to ${publisherName}</td><td>${rawDays} days; a “no thanks” for as long as it holds</td></tr>
<tr><td>What ${publisherName} adds, such as an order number</td><td>to give it back to ${publisherName} with a purchase you made</td><td>${rawDays} days</td></tr>
<tr><td>Offers you saved</td><td>to show them to you again</td><td>until you remove them</td></tr>
<tr><td>Messages about your choices to ${publisherName}</td><td>to deliver them</td><td>${deliveryDays} days</td></tr>
</table>
<h2>What is not kept</h2>
<p>Your network address: it is used to find the country you are in, and then forgotten. No e-mail address and no phone number is asked for. Nothing is put on your device by the offers but
what the page itself needs, and no cookies are set.</p>
<h2>Your choice</h2>
<p>If your browser sends the signal “Global Privacy Control”, you are shown offers without being recognised, and no number is kept for you.</p>
<p>Perks you pick are handed to ${publisherName} and to nobody else.</p>
<h2>How to ask</h2>
<p>To see what is kept about you, or to have it erased, ask ${publisherName}. An erasure is done within a minute of ${publisherName} passing it on.</p>
`;
