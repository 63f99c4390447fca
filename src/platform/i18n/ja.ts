import type { EndUserMessages } from './en.ts';

export const ja: EndUserMessages = {
  endUser: {
    unit: {
      labels: {
        offers: '特典',
        close: '閉じる',
        done: '完了',
        back: '前の特典',
        terms: '利用規約',
        progress: '特典 {current}/{total}',
        saved: '特典を保存しました',
        newTab: '(新しいタブで開きます)',
      },
      settings: {
        usp_cta_text: 'この特典を選ぶ',
        perkswallet_cta: '後で見る',
        saved_offer_text: '保存済み',
        offerwall_cta: 'その他の特典',
      },
      styles: { header: { text: 'ありがとうございます。特典をお選びください。' }, footer: { privacy: 'プライバシー' } },
      offer: { cta_yes: '利用する', cta_no: '今回は見送る' },
    },
    offerwall: {
      title: 'その他の特典',
      loading: '特典を読み込んでいます…',
      needsScript: 'このページの表示には JavaScript が必要です。',
      search: '特典を検索',
      categories: 'カテゴリー',
      all: 'すべて',
      featured: 'おすすめの特典',
      showMore: 'もっと見る',
      end: 'すべての特典を表示しました。',
      noMatch: '該当する特典はありません。',
      retry: '再試行',
      badLink: 'このリンクは無効になりました。',
      failed: '特典を読み込めませんでした。',
      details: '詳細',
      notEnabled: { title: 'ご利用いただけません', text: 'ここには特典一覧がありません。' },
      invalidLink: {
        title: 'このリンクは使用できません',
        text: 'リンクが不完全か、有効期限が切れています。元のページからもう一度開いてください。',
      },
    },
    coupon: { code: 'クーポンコード', until: '有効期限：{date}' },
    wallet: {
      title: '保存した特典',
      count: '{count, plural, =1 {保存した特典 1 件} other {保存した特典 {count} 件}}',
      empty: '保存した特典はまだありません',
      emptyText: '後で見るために保存した特典がここに表示されます。',
      question: 'この特典を保存しますか?',
      save: '保存',
      savedOn: '保存日: {date}',
      expired: '終了しました',
      open: '開く',
      remove: '削除',
      notEnabled: { title: 'ご利用いただけません', text: 'ここでは特典を保存できません。' },
      invalidLink: {
        title: 'このリンクは使用できません',
        text: 'リンクが不完全か、有効期限が切れています。保存した特典をもう一度開いてください。',
      },
    },
    privacy: {
      title: '特典とプライバシー',
      intro:
        '{publisher} は提携先の特典をご案内しています。このページでは、そのために保存されるデータ、保存期間、お問い合わせ方法を説明します。',
      stored: '保存されるもの',
      data: 'データ',
      purpose: '目的',
      kept: '保存期間',
      days: '{count} 日間',
      activity:
        '表示された特典、開いた特典、保存した特典、見送った特典とその日時、端末の種類、ネットワークアドレスから分かる国・地域・都市',
      activityPurpose: '集計および提携先からの支払い',
      identity: 'お名前の代わりとなる番号と、{publisher} が用いるお客様の ID',
      identityPurpose: '特典の表示回数の制限、「今回は見送る」の尊重、選ばれた特典の {publisher} への通知',
      identityKept: '{count} 日間。「今回は見送る」は有効な間',
      attributes: '注文番号など、{publisher} が追加するデータ',
      attributesPurpose: 'お客様のご購入とともに {publisher} へ返すため',
      saved: '保存した特典',
      savedPurpose: '再び表示するため',
      savedKept: 'お客様が削除するまで',
      messages: 'お客様の選択に関する {publisher} への通知',
      messagesPurpose: '配信',
      notStored: '保存されないもの',
      notStoredText:
        'ネットワークアドレスは、お客様の国を判定するために使われ、その後破棄されます。メールアドレスや電話番号をお尋ねすることはありません。特典がお客様の端末に保存するのはページ自体に必要なものだけで、Cookie ' +
        'は使用しません。',
      choice: 'お客様の選択',
      choiceSignal:
        'お使いのブラウザーが「Global Privacy Control」信号を送信している場合、お客様を識別せずに特典を表示し、番号も保存しません。',
      choicePerks: '選ばれた特典は {publisher} にのみ通知されます。',
      ask: 'お問い合わせ方法',
      askText:
        '保存されているデータの確認や削除をご希望の場合は、{publisher} にお問い合わせください。{publisher} からの依頼後、1 分以内に削除されます。',
      notFound: {
        title: 'ページが見つかりません',
        text: 'このページへのリンクが誤っているか、古くなっています。特典を表示したサイトにお問い合わせください。',
      },
    },
    errors: {
      offerGone: {
        title: 'この特典は終了しました',
        text: 'リンクが不完全か、有効期限が切れています。特典を見つけたページでご確認ください。',
      },
      tooMany: { title: '試行回数が多すぎます', text: 'しばらく待ってから、ページを再読み込みしてください。' },
      unavailable: { title: '現在ご利用いただけません', text: 'しばらく待ってから、ページを再読み込みしてください。' },
      failed: { title: 'うまくいきませんでした', text: '前のページに戻って、もう一度お試しください。' },
    },
  },
};
