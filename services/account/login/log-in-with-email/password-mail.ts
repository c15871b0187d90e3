import { htmlOf } from '../../../../shared/primitives/text/html-text.ts';
import type { MailMessage } from '../../messages/mailer.ts';

/** The message that a one-time password is sent in. It names the site, so that nobody types it into another one. */
export const passwordMail = (password: string, origin: string): Omit<MailMessage, 'to'> => {
  const site = new URL(origin).host;
  const warning = `Type it in at ${site} and nowhere else. It can be used once, within 5 minutes.`;
  const otherwise = 'If you did not ask for it, somebody typed your address by mistake: you need do nothing.';
  return {
    subject: `${password} is your code for ${site}`,
    text: `${password} is your code for ${site}.\n\n${warning}\n\n${otherwise}\n`,
    html: `<!doctype html>
<html lang="en">
<body style="font-family:sans-serif">
<p>Your code for ${htmlOf(site)}:</p>
<p style="font-size:2em;letter-spacing:.1em"><b>${htmlOf(password)}</b></p>
<p>${htmlOf(warning)}</p>
<p>${htmlOf(otherwise)}</p>
</body>
</html>
`,
  };
};
