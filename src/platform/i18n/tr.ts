import type { EndUserMessages } from './en.ts';

export const tr: EndUserMessages = {
  endUser: {
    unit: {
      labels: {
        offers: 'Teklifler',
        close: 'Kapat',
        done: 'Bitti',
        back: 'Önceki teklif',
        terms: 'Şartlar ve koşullar',
        progress: 'Teklif {current} / {total}',
        saved: 'Teklif kaydedildi',
        newTab: '(yeni sekmede açılır)',
      },
      settings: {
        usp_cta_text: 'Bu avantajı seç',
        perkswallet_cta: 'Sonrası için kaydet',
        saved_offer_text: 'Kaydedildi',
        offerwall_cta: 'Diğer teklifler',
      },
      styles: { header: { text: 'Teşekkürler! Bir avantaj seçin.' }, footer: { privacy: 'Gizlilik' } },
      offer: { cta_yes: 'Evet, lütfen', cta_no: 'Hayır, teşekkürler' },
    },
    offerwall: {
      title: 'Diğer teklifler',
      loading: 'Teklifler yükleniyor…',
      needsScript: 'Bu sayfa için JavaScript gereklidir.',
      search: 'Teklif ara',
      categories: 'Kategoriler',
      all: 'Tümü',
      featured: 'Öne çıkan teklifler',
      showMore: 'Daha fazla göster',
      end: 'Tüm teklifleri gördünüz.',
      noMatch: 'Eşleşen teklif yok.',
      retry: 'Tekrar dene',
      badLink: 'Bu bağlantı artık çalışmıyor.',
      failed: 'Teklifler yüklenemedi.',
      details: 'Ayrıntılar',
      notEnabled: { title: 'Kullanılamıyor', text: 'Burada teklif sayfası yok.' },
      invalidLink: {
        title: 'Bu bağlantı çalışmıyor',
        text: 'Bağlantı eksik veya süresi dolmuş. Bulduğunuz yerden yeniden açın.',
      },
    },
    message: {
      title: '{count, plural, =1 {Avantajınız} other {{count} avantajınız}}',
      why: 'Bu e-postayı, {publisher} üzerinden talep ettiğiniz için alıyorsunuz.',
      unsubscribe: 'Abonelikten çık',
      use: 'Kullan',
      goneTitle: 'Artık e-posta gelmeyecek',
      gone: 'Bu e-postaları artık almayacaksınız.',
      question: 'Bu e-postaları artık almak istemiyor musunuz?',
      reminder: 'Kaydettiğiniz bir teklif yakında sona eriyor',
      confirmTitle: 'Adresinizi onaylayın',
      confirmText:
        'Bu adresi onayladığınızda {publisher} avantajlarınızı e-postayla gönderir. Talep etmediyseniz ' +
        'hiçbir şey yapmanız gerekmez.',
      confirm: 'Onayla',
      confirmed: 'Onaylandı. Avantajlarınız yolda.',
    },
    coupon: { code: 'Kodunuz', until: 'Son geçerlilik tarihi: {date}' },
    wallet: {
      title: 'Kaydedilen teklifler',
      count: '{count, plural, =1 {1 kayıtlı teklif} other {{count} kayıtlı teklif}}',
      empty: 'Henüz kayıtlı teklif yok',
      emptyText: 'Sonrası için kaydettiğiniz teklifler burada gösterilir.',
      question: 'Bu teklif sonrası için kaydedilsin mi?',
      save: 'Kaydet',
      savedOn: 'Kaydedildi: {date}',
      expired: 'Artık geçerli değil',
      open: 'Aç',
      remove: 'Kaldır',
      notEnabled: { title: 'Kullanılamıyor', text: 'Burada teklif kaydedilemez.' },
      invalidLink: {
        title: 'Bu bağlantı çalışmıyor',
        text: 'Bağlantı eksik veya süresi dolmuş. Kayıtlı tekliflerinizi yeniden açın.',
      },
    },
    privacy: {
      title: 'Teklifler ve gizliliğiniz',
      intro:
        '{publisher}, size iş ortaklarının tekliflerini gösterir. Bu sayfada bunun için hangi verilerin ne kadar ' +
        'süreyle saklandığı ve bu verilerin nasıl talep edileceği açıklanır.',
      stored: 'Saklananlar',
      data: 'Veri',
      purpose: 'Amaç',
      kept: 'Saklama süresi',
      days: '{count} gün',
      activity:
        'Size gösterilen, açtığınız, kaydettiğiniz veya reddettiğiniz teklifler ve bunlar aracılığıyla yaptığınız ' +
        'alışverişler, bunların zamanı, dili ve cihaz türü; ağ adresinizden belirlenen ülke, bölge ve şehir',
      activityPurpose: 'Sayım ve iş ortaklarının ödemesi',
      identity: 'Adınızın yerine bir numara ve {publisher} tarafında tanındığınız kimlik',
      identityPurpose:
        'Bir teklifi kaç kez göreceğinizi sınırlamak, “hayır, teşekkürler” yanıtınıza uymak ve avantajlarınızı ' +
        '{publisher} tarafına iletmek',
      identityKept:
        'Kimlik {count} gün; numara, bir teklifi kaç kez gördüğünüz ve “hayır, teşekkürler” yanıtınızla birlikte, ' +
        'silinene kadar',
      attributes: '{publisher} tarafından eklenen veriler, örneğin sipariş numarası',
      attributesPurpose: 'Size teklif seçmek ve yaptığınız bir alışverişle birlikte {publisher} tarafına geri iletmek',
      attributesKept: '{count} gün; sonraki ziyaretler için de geçerli olanlar, süreleri dolana veya silinene kadar',
      saved: 'Kaydettiğiniz teklifler ve aldığınız kodlar',
      savedPurpose: 'Size yeniden göstermek',
      savedKept:
        'Teklifler siz kaldırana kadar; kodlar süreleri dolduktan {count} gün sonrasına kadar, süresiz olanlar ' +
        '{longest} gün',
      email: 'Avantajları veya bir hatırlatmayı e-posta ile istediyseniz, şifrelenmiş olarak e-posta adresiniz',
      emailPurpose: 'İstediğinizi size göndermek',
      emailKept:
        'E-posta gönderilene kadar; gönderim başarısız olursa veya adresi onaylamazsanız en fazla {count} gün daha',
      messages: 'Seçimleriniz hakkında {publisher} tarafına iletilen mesajlar',
      messagesPurpose: 'Teslim',
      notStored: 'Saklanmayanlar',
      notStoredAddress:
        'Ağ adresiniz: bulunduğunuz ülkeyi, bölgeyi ve şehri belirlemek için kullanılır ve ardından silinir.',
      notStoredAsked: 'Sizden e-posta adresi veya telefon numarası istenmez.',
      notStoredDevice: 'Teklifler cihazınızda yalnızca sayfanın kendisine gereken bilgileri saklar ve çerez kullanmaz.',
      choice: 'Seçiminiz',
      choiceSignal:
        'Tarayıcınız “Global Privacy Control” sinyali gönderiyorsa teklifler size tanınmadan gösterilir ve sizin ' +
        'için bir numara saklanmaz.',
      choicePerks: 'Seçtiğiniz avantajlar yalnızca {publisher} tarafına iletilir.',
      choiceEmail:
        'Her e-postada abonelikten çıkma bağlantısı vardır. Abonelikten çıktığınız, adresinizin yerine bir numarayla ' +
        'saklanır.',
      ask: 'Nasıl talep edilir',
      askText:
        'Hakkınızda saklanan verileri görmek veya sildirmek için {publisher} ile iletişime geçin. Silme işlemi, ' +
        '{publisher} talep ettikten sonra bir dakika içinde yapılır.',
      notFound: {
        title: 'Sayfa bulunamadı',
        text: 'Bu sayfanın bağlantısı yanlış veya eski. Size teklifleri gösteren siteye sorun.',
      },
    },
    errors: {
      offerGone: {
        title: 'Bu teklif artık yok',
        text: 'Bağlantı eksik veya süresi dolmuş. Teklifi bulduğunuz yerde arayın.',
      },
      tooMany: { title: 'Çok fazla deneme', text: 'Biraz bekleyin, ardından sayfayı yeniden yükleyin.' },
      unavailable: { title: 'Şu anda kullanılamıyor', text: 'Biraz bekleyin, ardından sayfayı yeniden yükleyin.' },
      failed: { title: 'Bu işlem başarısız oldu', text: 'Geldiğiniz sayfaya dönüp yeniden deneyin.' },
    },
  },
};
