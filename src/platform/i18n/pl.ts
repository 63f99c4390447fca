import type { EndUserMessages } from './en.ts';

export const pl: EndUserMessages = {
  endUser: {
    unit: {
      labels: {
        offers: 'Oferty',
        close: 'Zamknij',
        done: 'Gotowe',
        back: 'Poprzednia oferta',
        terms: 'Regulamin',
        progress: 'Oferta {current} z {total}',
        saved: 'Oferta zapisana',
        newTab: '(otwiera się w nowej karcie)',
      },
      settings: {
        usp_cta_text: 'Wybierz tę korzyść',
        perkswallet_cta: 'Zapisz na później',
        saved_offer_text: 'Zapisana',
        offerwall_cta: 'Więcej ofert',
      },
      styles: { header: { text: 'Dziękujemy! Wybierz korzyść.' }, footer: { privacy: 'Prywatność' } },
      offer: { cta_yes: 'Tak, poproszę', cta_no: 'Nie, dziękuję' },
    },
    offerwall: {
      title: 'Więcej ofert',
      loading: 'Wczytywanie ofert…',
      needsScript: 'Ta strona wymaga JavaScriptu.',
      search: 'Szukaj ofert',
      categories: 'Kategorie',
      all: 'Wszystkie',
      featured: 'Polecane oferty',
      showMore: 'Pokaż więcej',
      end: 'To już wszystkie oferty.',
      noMatch: 'Brak pasujących ofert.',
      retry: 'Spróbuj ponownie',
      badLink: 'Ten link już nie działa.',
      failed: 'Nie udało się wczytać ofert.',
      details: 'Szczegóły',
      notEnabled: { title: 'Niedostępne', text: 'Nie ma tu strony z ofertami.' },
      invalidLink: {
        title: 'Ten link nie działa',
        text: 'Jest niepełny lub wygasł. Otwórz go ponownie w miejscu, w którym go znaleziono.',
      },
    },
    message: {
      title:
        '{count, plural, =1 {Twoja korzyść} few {Twoje {count} korzyści} many {Twoje {count} korzyści} ' +
        'other {Twoje {count} korzyści}}',
      why: 'Otrzymujesz tę wiadomość na swoją prośbę, złożoną w {publisher}.',
      unsubscribe: 'Wypisz się',
      use: 'Skorzystaj',
      goneTitle: 'Koniec wiadomości',
      gone: 'Nie będziesz już otrzymywać tych wiadomości.',
      question: 'Czy nie chcesz już otrzymywać tych wiadomości?',
      reminder: 'Zapisana oferta wkrótce się kończy',
      confirmTitle: 'Potwierdź swój adres',
      confirmText:
        '{publisher} wyśle Ci korzyści e-mailem, gdy potwierdzisz ten adres. Jeśli nie prosisz o nie, nic nie rób.',
      confirm: 'Potwierdź',
      confirmed: 'Potwierdzono. Twoje korzyści są w drodze.',
    },
    coupon: { code: 'Twój kod', until: 'Ważny do {date}' },
    wallet: {
      title: 'Zapisane oferty',
      count:
        '{count, plural, =1 {1 zapisana oferta} few {{count} zapisane oferty} many {{count} zapisanych ofert} ' +
        'other {{count} zapisanej oferty}}',
      empty: 'Brak zapisanych ofert',
      emptyText: 'Tutaj znajdziesz oferty zapisane na później.',
      question: 'Zapisać tę ofertę na później?',
      save: 'Zapisz',
      savedOn: 'Zapisano {date}',
      expired: 'Już niedostępna',
      open: 'Otwórz',
      remove: 'Usuń',
      notEnabled: { title: 'Niedostępne', text: 'Nie można tu zapisywać ofert.' },
      invalidLink: {
        title: 'Ten link nie działa',
        text: 'Jest niepełny lub wygasł. Otwórz ponownie zapisane oferty.',
      },
    },
    privacy: {
      title: 'Oferty a Twoja prywatność',
      intro:
        '{publisher} pokazuje Ci oferty swoich partnerów. Na tej stronie opisano, jakie dane są w tym celu ' +
        'przechowywane, jak długo i jak można o nie zapytać.',
      stored: 'Co jest przechowywane',
      data: 'Dane',
      purpose: 'Cel',
      kept: 'Okres',
      days: '{count} dni',
      activity:
        'Jakie oferty zostały Ci pokazane, otwarte, zapisane lub odrzucone i co zostało przez nie kupione, kiedy, w ' +
        'jakim języku i na jakim urządzeniu, wraz z krajem, regionem i miastem Twojego adresu sieciowego',
      activityPurpose: 'Zliczanie i rozliczenia z partnerami',
      identity: 'Numer zamiast Twojego imienia i nazwiska oraz identyfikator, pod którym zna Cię {publisher}',
      identityPurpose:
        'Ograniczenie liczby wyświetleń oferty, uszanowanie odpowiedzi „nie, dziękuję” i przekazanie Twoich korzyści ' +
        'do {publisher}',
      identityKept:
        'Identyfikator: {count} dni; numer, wraz z liczbą wyświetleń oferty i odpowiedzią „nie, dziękuję”: do czasu ' +
        'usunięcia',
      attributes: 'Dane dodane przez {publisher}, na przykład numer zamówienia',
      attributesPurpose: 'Wybór ofert dla Ciebie i zwrócenie ich do {publisher} wraz z Twoim zakupem',
      attributesKept: '{count} dni; dane także na kolejne wizyty: do ich wygaśnięcia lub usunięcia',
      saved: 'Zapisane przez Ciebie oferty i otrzymane kody',
      savedPurpose: 'Ponowne pokazanie ich Tobie',
      savedKept:
        'Oferty: do czasu ich usunięcia przez Ciebie; kody: do {count} dni po ich wygaśnięciu, a bezterminowe: ' +
        '{longest} dni',
      email: 'Twój adres e-mail, zaszyfrowany, jeśli wybrano otrzymanie korzyści lub przypomnienia e-mailem',
      emailPurpose: 'Wysłanie tego, o co poproszono',
      emailKept:
        'Do wysłania e-maila; najwyżej {count} dni dłużej, jeśli wysyłka się nie powiedzie lub adres nie zostanie ' +
        'potwierdzony',
      messages: 'Wiadomości o Twoich wyborach do {publisher}',
      messagesPurpose: 'Dostarczenie',
      notStored: 'Co nie jest przechowywane',
      notStoredAddress:
        'Twój adres sieciowy: służy do ustalenia kraju, regionu i miasta, w którym jesteś, po czym jest usuwany.',
      notStoredAsked: 'Nie prosimy o adres e-mail ani numer telefonu.',
      notStoredDevice:
        'Oferty zapisują na Twoim urządzeniu tylko to, czego potrzebuje sama strona, i nie używają plików cookie.',
      choice: 'Twój wybór',
      choiceSignal:
        'Jeśli Twoja przeglądarka wysyła sygnał „Global Privacy Control”, oferty są pokazywane bez rozpoznawania Cię ' +
        'i nie jest dla Ciebie przechowywany żaden numer.',
      choicePerks: 'Wybrane przez Ciebie korzyści są przekazywane tylko do {publisher}.',
      choiceEmail:
        'Każdy e-mail zawiera link do rezygnacji. Rezygnacja jest przechowywana z numerem zamiast Twojego adresu.',
      ask: 'Jak złożyć wniosek',
      askText:
        'Aby zobaczyć przechowywane dane o sobie lub je usunąć, zwróć się do {publisher}. Usunięcie następuje w ' +
        'ciągu minuty od zgłoszenia przez {publisher}.',
      notFound: {
        title: 'Nie znaleziono strony',
        text: 'Link do tej strony jest błędny lub nieaktualny. Zapytaj w serwisie, w którym pokazano Ci oferty.',
      },
    },
    errors: {
      offerGone: {
        title: 'Tej oferty już nie ma',
        text: 'Link jest niepełny lub wygasł. Poszukaj oferty tam, gdzie ją znaleziono.',
      },
      tooMany: { title: 'Zbyt wiele prób', text: 'Poczekaj chwilę, a potem odśwież stronę.' },
      unavailable: { title: 'Chwilowo niedostępne', text: 'Poczekaj chwilę, a potem odśwież stronę.' },
      failed: { title: 'To się nie udało', text: 'Wróć do poprzedniej strony i spróbuj ponownie.' },
    },
  },
};
