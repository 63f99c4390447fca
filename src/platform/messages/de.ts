import type { Messages } from './en.ts';

export const de: Messages = {
  unit: {
    labels: {
      offers: 'Angebote',
      close: 'Schließen',
      done: 'Fertig',
      back: 'Vorheriges Angebot',
      terms: 'Teilnahmebedingungen',
      progress: 'Angebot {current} von {total}',
      saved: 'Angebot gespeichert',
      newTab: '(öffnet in einem neuen Tab)',
    },
    settings: {
      usp_cta_text: 'Vorteil auswählen',
      perkswallet_cta: 'Für später merken',
      saved_offer_text: 'Gemerkt',
      offerwall_cta: 'Weitere Angebote',
    },
    styles: { header: { text: 'Danke! Wählen Sie einen Vorteil.' }, footer: { privacy: 'Datenschutz' } },
    offer: { cta_yes: 'Ja, gern', cta_no: 'Nein, danke' },
  },
  offerwall: {
    title: 'Weitere Angebote',
    loading: 'Angebote werden geladen …',
    needsScript: 'Diese Seite benötigt JavaScript.',
    search: 'Angebote suchen',
    categories: 'Kategorien',
    all: 'Alle',
    featured: 'Empfohlene Angebote',
    showMore: 'Mehr anzeigen',
    end: 'Sie haben alle Angebote gesehen.',
    noMatch: 'Keine passenden Angebote.',
    retry: 'Erneut versuchen',
    badLink: 'Dieser Link ist nicht mehr gültig.',
    failed: 'Die Angebote konnten nicht geladen werden.',
    details: 'Details',
    notEnabled: { title: 'Nicht verfügbar', text: 'Hier gibt es keine Angebotsübersicht.' },
    invalidLink: {
      title: 'Dieser Link funktioniert nicht',
      text: 'Er ist unvollständig oder abgelaufen. Öffnen Sie ihn dort erneut, wo Sie ihn gefunden haben.',
    },
  },
  wallet: {
    title: 'Gemerkte Angebote',
    one: '1 gemerktes Angebot',
    many: '{count} gemerkte Angebote',
    empty: 'Noch nichts gemerkt',
    emptyText: 'Hier erscheinen Angebote, die Sie sich für später merken.',
    question: 'Dieses Angebot für später merken?',
    save: 'Merken',
    savedOn: 'Gemerkt am {date}',
    expired: 'Nicht mehr verfügbar',
    open: 'Öffnen',
    remove: 'Entfernen',
    notEnabled: { title: 'Nicht verfügbar', text: 'Hier können keine Angebote gemerkt werden.' },
    invalidLink: {
      title: 'Dieser Link funktioniert nicht',
      text: 'Er ist unvollständig oder abgelaufen. Öffnen Sie Ihre gemerkten Angebote erneut.',
    },
  },
  privacy: {
    title: 'Angebote und Ihre Privatsphäre',
    intro:
      '{publisher} zeigt Ihnen Angebote von Partnern. Auf dieser Seite steht, welche Daten dafür gespeichert werden, ' +
      'wie lange, und wie Sie Auskunft erhalten.',
    stored: 'Was gespeichert wird',
    data: 'Daten',
    purpose: 'Zweck',
    kept: 'Dauer',
    days: '{count} Tage',
    activity:
      'Welche Angebote Ihnen gezeigt wurden und welche Sie geöffnet, gemerkt oder abgelehnt haben, wann und auf ' +
      'welcher Art von Gerät, mit Land, Region und Stadt Ihrer Netzwerkadresse',
    activityPurpose: 'Zählung und Abrechnung mit Partnern',
    identity: 'Eine Nummer anstelle Ihres Namens und die Kennung, unter der {publisher} Sie kennt',
    identityPurpose:
      'Begrenzen, wie oft Sie ein Angebot sehen, ein „Nein, danke“ beachten und Ihre Vorteile an {publisher} ' +
      'übermitteln',
    identityKept: '{count} Tage; ein „Nein, danke“, solange es gilt',
    attributes: 'Daten, die {publisher} hinzufügt, etwa eine Bestellnummer',
    attributesPurpose: 'Rückgabe an {publisher} zusammen mit einem Kauf von Ihnen',
    saved: 'Angebote, die Sie sich gemerkt haben',
    savedPurpose: 'Um sie Ihnen wieder zu zeigen',
    savedKept: 'Bis Sie sie entfernen',
    messages: 'Nachrichten über Ihre Auswahl an {publisher}',
    messagesPurpose: 'Zustellung',
    notStored: 'Was nicht gespeichert wird',
    notStoredText:
      'Ihre Netzwerkadresse: Sie dient dazu, Ihr Land zu ermitteln, und wird dann verworfen. Sie werden weder nach ' +
      'einer E-Mail-Adresse noch nach einer Telefonnummer gefragt. Die Angebote speichern auf Ihrem Gerät ' +
      'nichts, was ' +
      'die Seite nicht selbst benötigt, und setzen keine Cookies.',
    choice: 'Ihre Wahl',
    choiceSignal:
      'Sendet Ihr Browser das Signal „Global Privacy Control“, werden Ihnen Angebote gezeigt, ohne dass Sie ' +
      'wiedererkannt werden, und es wird keine Nummer für Sie gespeichert.',
    choicePerks: 'Vorteile, die Sie auswählen, werden nur an {publisher} übermittelt.',
    ask: 'So erhalten Sie Auskunft',
    askText:
      'Um die über Sie gespeicherten Daten einzusehen oder löschen zu lassen, wenden Sie sich an {publisher}. Eine ' +
      'Löschung ist binnen einer Minute erledigt, nachdem {publisher} sie veranlasst hat.',
    notFound: {
      title: 'Seite nicht gefunden',
      text:
        'Der Link zu dieser Seite ist falsch oder veraltet. Fragen Sie die Website, die Ihnen die Angebote ' +
        'gezeigt hat.',
    },
  },
  errors: {
    offerGone: {
      title: 'Dieses Angebot gibt es nicht mehr',
      text: 'Der Link ist unvollständig oder abgelaufen. Suchen Sie das Angebot dort, wo Sie es gefunden haben.',
    },
    tooMany: { title: 'Zu viele Versuche', text: 'Warten Sie einen Moment und laden Sie die Seite dann neu.' },
    unavailable: {
      title: 'Zurzeit nicht verfügbar',
      text: 'Warten Sie einen Moment und laden Sie die Seite dann neu.',
    },
    failed: { title: 'Das hat nicht geklappt', text: 'Gehen Sie zurück und versuchen Sie es noch einmal.' },
  },
};
