import sanitizeHtml from 'sanitize-html';

const allowedTags = 'p br ul ol li b strong i em u a span div h4 h5 h6 small sup sub table thead tbody tr th td'.split(
  ' ',
);

/**
 * Terms that are safe to store and to show as raw HTML: allowed tags only, https links that open in a new window
 * (docs/interface.md#fetch-offers).
 */
export function sanitiseTerms(html: string): string {
  return sanitizeHtml(html, {
    allowedTags,
    allowedAttributes: { a: ['href', 'rel', 'target'] },
    allowedSchemes: ['https'],
    allowProtocolRelative: false,
    transformTags: {
      a: (tagName, { href }) => ({
        tagName,
        // A relative link would navigate the page or app that shows the terms.
        attribs: {
          ...(href !== undefined && /^https:\/\//i.test(href) ? { href } : {}),
          rel: 'noopener noreferrer nofollow',
          target: '_blank',
        },
      }),
    },
  });
}
