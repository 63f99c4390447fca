/** English, and the shape of every other language. `{name}` is a placeholder. */
export const en = {
  unit: {
    /** Texts of the unit itself; `AdConfig.labels` replaces them. */
    labels: {
      offers: 'Offers',
      close: 'Close',
      done: 'Done',
      back: 'Previous offer',
      terms: 'Terms and conditions',
      progress: 'Offer {current} of {total}',
      saved: 'Offer saved',
      newTab: '(opens in a new tab)',
    },
    /** Defaults of settings, styles and offers, which a theme's or an offer's own text replaces. */
    settings: {
      usp_cta_text: 'Add to my perks',
      perkswallet_cta: 'Save For Later',
      saved_offer_text: 'Saved',
      offerwall_cta: 'More Offers',
    },
    styles: { header: { text: 'Thank you! Pick a perk.' }, footer: { privacy: 'Privacy' } },
    offer: { cta_yes: 'Yes, please', cta_no: 'No, thanks' },
  },
  offerwall: {
    title: 'More offers',
    loading: 'Loading offers …',
    needsScript: 'This page needs JavaScript.',
    search: 'Search offers',
    categories: 'Categories',
    all: 'All',
    featured: 'Featured offers',
    showMore: 'Show more',
    end: 'You have seen all offers.',
    noMatch: 'No offers match.',
    retry: 'Try again',
    badLink: 'This link does not work any more.',
    failed: 'The offers could not be loaded.',
    details: 'Details',
    notEnabled: { title: 'Not available', text: 'There is no offerwall here.' },
    invalidLink: {
      title: 'This link does not work',
      text: 'It is incomplete or has expired. Open it again from where you found it.',
    },
  },
  wallet: {
    title: 'Saved offers',
    one: '1 saved offer',
    many: '{count} saved offers',
    empty: 'Nothing saved yet',
    emptyText: 'Offers that you save for later are shown here.',
    question: 'Save this offer for later?',
    save: 'Save',
    savedOn: 'Saved on {date}',
    expired: 'No longer available',
    open: 'Open',
    remove: 'Remove',
    notEnabled: { title: 'Not available', text: 'Offers cannot be saved here.' },
    invalidLink: {
      title: 'This link does not work',
      text: 'It is incomplete or has expired. Open your saved offers again.',
    },
  },
  privacy: {
    title: 'Offers and your privacy',
    intro:
      '{publisher} shows you offers of its partners. This page says which data is stored for that, for how long, and ' +
      'how to ask for it.',
    stored: 'What is stored',
    data: 'Data',
    purpose: 'Purpose',
    kept: 'Kept for',
    days: '{count} days',
    activity:
      'Which offers you were shown, opened, saved or declined, when, and on what kind of device, with the country, ' +
      'region and city of your network address',
    activityPurpose: 'Counting, and payment by partners',
    identity: 'A number in place of your name, and the id by which {publisher} knows you',
    identityPurpose:
      'Limiting how often you see an offer, respecting a “no thanks”, and passing your perks to {publisher}',
    identityKept: '{count} days; a “no thanks” for as long as it applies',
    attributes: 'Data that {publisher} adds, such as an order number',
    attributesPurpose: 'Returning it to {publisher} with a purchase you made',
    saved: 'Offers you saved',
    savedPurpose: 'Showing them to you again',
    savedKept: 'Until you remove them',
    messages: 'Messages about your choices to {publisher}',
    messagesPurpose: 'Delivery',
    notStored: 'What is not stored',
    notStoredText:
      'Your network address: it is used to find the country you are in, and then discarded. You are not asked for an ' +
      'e-mail address or a phone number. The offers store nothing on your device but what the page itself needs, and ' +
      'set no cookies.',
    choice: 'Your choice',
    choiceSignal:
      'If your browser sends the “Global Privacy Control” signal, you are shown offers without being recognised, and ' +
      'no number is stored for you.',
    choicePerks: 'Perks you choose are passed to {publisher} only.',
    ask: 'How to ask',
    askText:
      'To see the data stored about you, or to have it erased, ask {publisher}. An erasure is done within a minute ' +
      'after {publisher} has requested it.',
    notFound: {
      title: 'Page not found',
      text: 'The link to this page is wrong or out of date. Ask the site that showed you the offers.',
    },
  },
  errors: {
    offerGone: {
      title: 'This offer is gone',
      text: 'The link is incomplete or has expired. Look for the offer where you found it.',
    },
    tooMany: { title: 'Too many attempts', text: 'Wait a moment, then load the page again.' },
    unavailable: { title: 'Not available right now', text: 'Wait a moment, then load the page again.' },
    failed: { title: 'This did not work', text: 'Go back to where you came from and try again.' },
  },
};

export type Messages = typeof en;
