import type { EndUserMessages } from './en.ts';

export const nl: EndUserMessages = {
  endUser: {
    unit: {
      labels: {
        offers: 'Aanbiedingen',
        close: 'Sluiten',
        done: 'Klaar',
        back: 'Vorige aanbieding',
        terms: 'Algemene voorwaarden',
        progress: 'Aanbieding {current} van {total}',
        saved: 'Aanbieding bewaard',
        newTab: '(opent in een nieuw tabblad)',
      },
      settings: {
        usp_cta_text: 'Kies dit voordeel',
        perkswallet_cta: 'Bewaren voor later',
        saved_offer_text: 'Bewaard',
        offerwall_cta: 'Meer aanbiedingen',
      },
      styles: { header: { text: 'Bedankt! Kies een voordeel.' }, footer: { privacy: 'Privacy' } },
      offer: { cta_yes: 'Ja, graag', cta_no: 'Nee, bedankt' },
    },
    offerwall: {
      title: 'Meer aanbiedingen',
      loading: 'Aanbiedingen worden geladen…',
      needsScript: 'Deze pagina heeft JavaScript nodig.',
      search: 'Aanbiedingen zoeken',
      categories: 'Categorieën',
      all: 'Alle',
      featured: 'Uitgelichte aanbiedingen',
      showMore: 'Meer tonen',
      end: 'Je hebt alle aanbiedingen gezien.',
      noMatch: 'Geen aanbiedingen gevonden.',
      retry: 'Opnieuw proberen',
      badLink: 'Deze link werkt niet meer.',
      failed: 'De aanbiedingen konden niet worden geladen.',
      details: 'Details',
      notEnabled: { title: 'Niet beschikbaar', text: 'Hier is geen pagina met aanbiedingen.' },
      invalidLink: {
        title: 'Deze link werkt niet',
        text: 'De link is onvolledig of verlopen. Open hem opnieuw vanaf de plek waar je hem vond.',
      },
    },
    message: {
      title: '{count, plural, =1 {Je voordeel} other {Je {count} voordelen}}',
      why: 'Je krijgt deze e-mail omdat je erom hebt gevraagd bij {publisher}.',
      unsubscribe: 'Afmelden',
      use: 'Gebruiken',
      goneTitle: 'Geen e-mails meer',
      gone: 'Je krijgt deze e-mails niet meer.',
      question: 'Wil je deze e-mails niet meer ontvangen?',
      reminder: 'Een bewaarde aanbieding eindigt binnenkort',
      confirmTitle: 'Bevestig je adres',
      confirmText:
        '{publisher} mailt je je voordelen zodra je dit adres hebt bevestigd. Heb je er niet om gevraagd? ' +
        'Dan hoef je niets te doen.',
      confirm: 'Bevestigen',
      confirmed: 'Bevestigd. Je voordelen zijn onderweg.',
    },
    coupon: { code: 'Je code', until: 'Geldig tot en met {date}' },
    wallet: {
      title: 'Bewaarde aanbiedingen',
      count: '{count, plural, =1 {1 bewaarde aanbieding} other {{count} bewaarde aanbiedingen}}',
      empty: 'Nog niets bewaard',
      emptyText: 'Aanbiedingen die je voor later bewaart, staan hier.',
      question: 'Deze aanbieding voor later bewaren?',
      save: 'Bewaren',
      savedOn: 'Bewaard op {date}',
      expired: 'Niet meer beschikbaar',
      open: 'Openen',
      remove: 'Verwijderen',
      notEnabled: { title: 'Niet beschikbaar', text: 'Hier kunnen geen aanbiedingen worden bewaard.' },
      invalidLink: {
        title: 'Deze link werkt niet',
        text: 'De link is onvolledig of verlopen. Open je bewaarde aanbiedingen opnieuw.',
      },
    },
    privacy: {
      title: 'Aanbiedingen en je privacy',
      intro:
        '{publisher} toont je aanbiedingen van partners. Op deze pagina staat welke gegevens daarvoor worden ' +
        'bewaard, hoe lang, en hoe je ze kunt opvragen.',
      stored: 'Wat er wordt bewaard',
      data: 'Gegevens',
      purpose: 'Doel',
      kept: 'Bewaartermijn',
      days: '{count} dagen',
      activity:
        'Welke aanbiedingen je te zien kreeg, opende, bewaarde of afwees en wat je erdoor kocht, wanneer, in welke ' +
        'taal en op wat voor apparaat, met het land, de regio en de stad van je netwerkadres',
      activityPurpose: 'Tellen en betaling door partners',
      identity: 'Een nummer in plaats van je naam, en de id waaronder {publisher} je kent',
      identityPurpose:
        'Beperken hoe vaak je een aanbieding ziet, een ‘nee, bedankt’ respecteren en je voordelen doorgeven aan ' +
        '{publisher}',
      identityKept:
        'De id {count} dagen; het nummer, met hoe vaak je een aanbieding zag en je ‘nee, bedankt’, tot het wordt ' +
        'gewist',
      attributes: 'Gegevens die {publisher} toevoegt, zoals een bestelnummer',
      attributesPurpose: 'Aanbiedingen voor je kiezen en ze bij een aankoop van jou teruggeven aan {publisher}',
      attributesKept: '{count} dagen; wat ook voor latere bezoeken geldt, tot het verloopt of wordt gewist',
      saved: 'Aanbiedingen die je hebt bewaard en codes die je hebt gekregen',
      savedPurpose: 'Ze je opnieuw tonen',
      savedKept:
        'Aanbiedingen tot je ze verwijdert; codes tot {count} dagen na hun einde, codes zonder einde {longest} dagen',
      email: 'Je e-mailadres, versleuteld, als je om voordelen of een herinnering per e-mail hebt gevraagd',
      emailPurpose: 'Je sturen waar je om hebt gevraagd',
      emailKept:
        'Tot de e-mail is verzonden; hoogstens {count} dagen langer als dat mislukt of je het adres niet bevestigt',
      messages: 'Berichten over je keuzes aan {publisher}',
      messagesPurpose: 'Bezorging',
      notStored: 'Wat er niet wordt bewaard',
      notStoredAddress:
        'Je netwerkadres: het wordt gebruikt om te bepalen in welk land, welke regio en welke stad je bent en daarna ' +
        'verwijderd.',
      notStoredAsked: 'Er wordt je niet om een e-mailadres of telefoonnummer gevraagd.',
      notStoredDevice:
        'De aanbiedingen slaan op je apparaat alleen op wat de pagina zelf nodig heeft en plaatsen geen cookies.',
      choice: 'Je keuze',
      choiceSignal:
        'Als je browser het signaal ‘Global Privacy Control’ stuurt, zie je aanbiedingen zonder dat je wordt ' +
        'herkend, en wordt er geen nummer voor je bewaard.',
      choicePerks: 'Voordelen die je kiest, worden alleen aan {publisher} doorgegeven.',
      choiceEmail:
        'Elke e-mail heeft een link waarmee je je afmeldt. Je afmelding wordt bewaard met een nummer in plaats van ' +
        'je adres.',
      ask: 'Hoe je iets opvraagt',
      askText:
        'Wil je de gegevens zien die over je zijn bewaard, of ze laten wissen? Vraag het aan {publisher}. Het wissen ' +
        'gebeurt binnen een minuut nadat {publisher} erom heeft gevraagd.',
      notFound: {
        title: 'Pagina niet gevonden',
        text: 'De link naar deze pagina klopt niet of is verouderd. Vraag het de site die je de aanbiedingen toonde.',
      },
    },
    errors: {
      offerGone: {
        title: 'Deze aanbieding is er niet meer',
        text: 'De link is onvolledig of verlopen. Zoek de aanbieding op waar je haar vond.',
      },
      tooMany: { title: 'Te veel pogingen', text: 'Wacht even en laad de pagina dan opnieuw.' },
      unavailable: { title: 'Nu niet beschikbaar', text: 'Wacht even en laad de pagina dan opnieuw.' },
      failed: { title: 'Dit is niet gelukt', text: 'Ga terug en probeer het opnieuw.' },
    },
  },
};
