import type { EndUserMessages } from './en.ts';

export const he: EndUserMessages = {
  endUser: {
    unit: {
      labels: {
        offers: 'הצעות',
        close: 'סגירה',
        done: 'סיום',
        back: 'ההצעה הקודמת',
        terms: 'תנאים והגבלות',
        progress: 'הצעה {current} מתוך {total}',
        saved: 'ההצעה נשמרה',
        newTab: '(נפתח בכרטיסייה חדשה)',
      },
      settings: {
        usp_cta_text: 'הוספה להטבות שלי',
        perkswallet_cta: 'שמירה למועד אחר',
        saved_offer_text: 'נשמר',
        offerwall_cta: 'הצעות נוספות',
      },
      styles: { header: { text: 'תודה! אפשר לבחור הטבה.' }, footer: { privacy: 'פרטיות' } },
      offer: { cta_yes: 'כן, בבקשה', cta_no: 'לא, תודה' },
    },
    offerwall: {
      title: 'הצעות נוספות',
      loading: 'ההצעות נטענות…',
      needsScript: 'הדף הזה דורש JavaScript.',
      search: 'חיפוש הצעות',
      categories: 'קטגוריות',
      all: 'הכול',
      featured: 'הצעות מומלצות',
      showMore: 'הצגת עוד',
      end: 'ראית את כל ההצעות.',
      noMatch: 'לא נמצאו הצעות מתאימות.',
      retry: 'ניסיון נוסף',
      badLink: 'הקישור הזה כבר לא פעיל.',
      failed: 'לא ניתן לטעון את ההצעות.',
      details: 'פרטים',
      notEnabled: { title: 'לא זמין', text: 'אין כאן דף הצעות.' },
      invalidLink: {
        title: 'הקישור הזה לא עובד',
        text: 'הוא חלקי או שתוקפו פג. יש לפתוח אותו שוב מהמקום שבו נמצא.',
      },
    },
    message: {
      title: '{count, plural, =1 {ההטבה שלך} other {{count} ההטבות שלך}}',
      why: 'ההודעה הזו נשלחה אליך לפי בקשתך אצל {publisher}.',
      unsubscribe: 'ביטול הרישום',
      use: 'למימוש',
      goneTitle: 'לא יישלחו עוד הודעות',
      gone: 'לא תקבל/י עוד הודעות כאלה.',
      question: 'להפסיק לקבל הודעות כאלה?',
      reminder: 'הצעה ששמרת מסתיימת בקרוב',
      confirmTitle: 'אישור הכתובת',
      confirmText: '{publisher} ישלח לך את ההטבות במייל לאחר אישור הכתובת הזו. אם לא ביקשת אותן, אין צורך לעשות דבר.',
      confirm: 'אישור',
      confirmed: 'הכתובת אושרה. ההטבות בדרך אליך.',
    },
    coupon: { code: 'הקוד שלך', until: 'בתוקף עד {date}' },
    wallet: {
      title: 'הצעות שמורות',
      count: '{count, plural, =1 {הצעה שמורה אחת} other {{count} הצעות שמורות}}',
      empty: 'עדיין אין הצעות שמורות',
      emptyText: 'כאן מוצגות הצעות ששמרת למועד אחר.',
      question: 'לשמור את ההצעה הזו למועד אחר?',
      save: 'שמירה',
      savedOn: 'נשמר בתאריך {date}',
      expired: 'כבר לא זמין',
      open: 'פתיחה',
      remove: 'הסרה',
      notEnabled: { title: 'לא זמין', text: 'לא ניתן לשמור כאן הצעות.' },
      invalidLink: {
        title: 'הקישור הזה לא עובד',
        text: 'הוא חלקי או שתוקפו פג. יש לפתוח שוב את ההצעות השמורות.',
      },
    },
    privacy: {
      title: 'הצעות והפרטיות שלך',
      intro:
        '{publisher} מציגה לך הצעות של שותפים. בדף הזה מוסבר אילו נתונים נשמרים לשם כך, למשך כמה זמן, וכיצד ניתן ' +
        'לבקש אותם.',
      stored: 'מה נשמר',
      data: 'נתונים',
      purpose: 'מטרה',
      kept: 'משך השמירה',
      days: '{count} ימים',
      activity:
        'אילו הצעות הוצגו לך, ואילו פתחת, שמרת או דחית, מתי ובאיזה סוג מכשיר, עם המדינה, האזור והעיר של כתובת הרשת ' +
        'שלך',
      activityPurpose: 'ספירה ותשלום מצד השותפים',
      identity: 'מספר במקום השם שלך, והמזהה שלפיו {publisher} מכירה אותך',
      identityPurpose: 'הגבלת מספר הפעמים שהצעה מוצגת לך, כיבוד התשובה „לא, תודה” והעברת ההטבות שלך אל {publisher}',
      identityKept: '{count} ימים; התשובה „לא, תודה” כל עוד היא בתוקף',
      attributes: 'נתונים ש-{publisher} מוסיפה, כגון מספר הזמנה',
      attributesPurpose: 'החזרתם אל {publisher} יחד עם רכישה שביצעת',
      saved: 'הצעות ששמרת',
      savedPurpose: 'הצגתן לך שוב',
      savedKept: 'עד שיוסרו על ידך',
      messages: 'הודעות אל {publisher} על הבחירות שלך',
      messagesPurpose: 'מסירה',
      notStored: 'מה לא נשמר',
      notStoredText:
        'כתובת הרשת שלך: היא משמשת לזיהוי המדינה שבה את/ה נמצא/ת, ולאחר מכן נמחקת. לא תתבקש/י למסור כתובת דוא״ל או ' +
        'מספר טלפון. ההצעות שומרות במכשיר שלך רק את מה שהדף עצמו צריך, ואינן משתמשות בקובצי Cookie.',
      choice: 'הבחירה שלך',
      choiceSignal:
        'אם הדפדפן שלך שולח את האות „Global Privacy Control”, ההצעות מוצגות לך בלי לזהות אותך, ולא נשמר עבורך שום ' +
        'מספר.',
      choicePerks: 'ההטבות שבחרת מועברות אל {publisher} בלבד.',
      ask: 'כיצד לבקש',
      askText:
        'כדי לראות את הנתונים השמורים עליך או למחוק אותם, יש לפנות אל {publisher}. המחיקה מתבצעת בתוך דקה מרגע ' +
        'הבקשה של {publisher}.',
      notFound: {
        title: 'הדף לא נמצא',
        text: 'הקישור לדף הזה שגוי או לא עדכני. יש לפנות לאתר שהציג לך את ההצעות.',
      },
    },
    errors: {
      offerGone: {
        title: 'ההצעה הזו כבר לא קיימת',
        text: 'הקישור חלקי או שתוקפו פג. יש לחפש את ההצעה במקום שבו נמצאה.',
      },
      tooMany: { title: 'יותר מדי ניסיונות', text: 'יש להמתין רגע ולטעון את הדף שוב.' },
      unavailable: { title: 'לא זמין כרגע', text: 'יש להמתין רגע ולטעון את הדף שוב.' },
      failed: { title: 'הפעולה לא הצליחה', text: 'יש לחזור לדף הקודם ולנסות שוב.' },
    },
  },
};
