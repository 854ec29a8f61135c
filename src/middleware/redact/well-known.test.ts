import { describe, expect, test } from 'vitest';
import { said } from '../../../test/support/middleware-call.ts';
import { toolResult } from '../../define/tool.ts';
import { redact } from './index.ts';

/** What becomes of a text. */
async function shown(text: string): Promise<unknown> {
  return said(await redact()(undefined as never, async () => toolResult(text)));
}

/** So many letters and digits, put together here so that no scanner takes this file for a leak. */
const some = (length: number): string => 'aB3dE6gH9'.repeat(20).slice(0, length);
const hex = (length: number): string => '0123456789abcdef'.repeat(8).slice(0, length);
const join = (...parts: readonly string[]): string => parts.join('');

describe('keys and tokens of services', () => {
  test.each<readonly [string, string]>([
    ['AWS', join('AKIA', 'IOSFODNN7EXAMPLE'.replace('8', '2'))],
    ['AWS, for a while', join('ASIA', 'Y34FZKBOKMUTVV7A')],
    ['GitHub', join('ghp', '_', some(36))],
    ['GitHub Actions', join('ghs', '_', some(60))],
    ['GitHub, fine-grained', join('github', '_pat_', some(22), '_', some(59))],
    ['GitLab', join('glpat', '-', some(20))],
    ['GitLab, routable', join('glpat', '-', some(27), '.01.', some(9))],
    ['Slack', join('xoxb', '-123456789012-123456789012-', some(24))],
    ['Slack, for apps', join('xapp', '-1-A0123-456-', some(64))],
    ['OpenAI', join('sk', '-proj-', some(40), '_', some(40))],
    ['Anthropic', join('sk', '-ant-api03-', some(40), '-', some(40))],
    ['Stripe', join('sk', '_live_', some(24))],
    ['Stripe, restricted', join('rk', '_test_', some(99))],
    ['Google', join('AIza', some(35))],
    ['Google OAuth', join('ya29', '.', some(60))],
    ['npm', join('npm', '_', some(36))],
    ['PyPI', join('pypi', '-AgEIcHlwaS5vcmc', some(60))],
    ['Hugging Face', join('hf', '_', some(34))],
    ['SendGrid', join('SG', '.', some(22), '.', some(43))],
    ['DigitalOcean', join('dop', '_v1_', hex(64))],
    ['a JSON Web Token', join('eyJhbGciOiJIUzI1NiJ9', '.', 'eyJzdWIiOiIxMjM0NTY3ODkwIn0', '.', some(43))],
    ['a JSON Web Token without signature', join('eyJhbGciOiJub25lIn0', '.', 'eyJzdWIiOiIxMjM0NTY3ODkwIn0', '.')],
  ])('%s: taken out wherever it stands in a text', async (_, secret) => {
    expect(await shown(secret)).toBe('[redacted]');
    expect(await shown(`key=${secret}, "${secret}"\n(${secret})`)).toBe('key=[redacted], "[redacted]"\n([redacted])');
  });

  test.each<readonly [string, string, string]>([
    ['an HTTP header', 'Authorization: Bearer abcdef-ghijkl', 'Authorization: Bearer [redacted]'],
    ['a basic one', 'authorization: Basic dXNlcjpwYXNz', 'authorization: Basic [redacted]'],
    ['one without a scheme', '-H "Authorization: s3cr3t-s3cr3t"', '-H "Authorization: [redacted]"'],
    ['a bearer token', 'bearer 0123456789abcdef0', 'bearer [redacted]'],
    ['a password in a URL', 'postgres://ada:hunter2@db/x', 'postgres://ada:[redacted]@db/x'],
    ['one without a user', 'redis://:hunter2@cache:6379', 'redis://:[redacted]@cache:6379'],
    ['an Azure key', `AccountKey=${some(40)}==;X=1`, 'AccountKey=[redacted];X=1'],
    [
      'a private key',
      '-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEow\n-----END RSA PRIVATE KEY-----\nend',
      '-----BEGIN RSA PRIVATE KEY-----[redacted]-----END RSA PRIVATE KEY-----\nend',
    ],
    ['a private key that was cut off', '-----BEGIN PRIVATE KEY-----\nMIIEow', '-----BEGIN PRIVATE KEY-----[redacted]'],
    [
      'a private key in one line of JSON',
      '{"key":"-----BEGIN PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----"}',
      '{"key":"-----BEGIN PRIVATE KEY-----[redacted]-----END PRIVATE KEY-----"}',
    ],
    ['JSON in a text', 'got {"api_key": "a\\"b", "n": 1}', 'got {"api_key": "[redacted]", "n": 1}'],
    ['JSON that was cut off', '{"password":"hunter2 \\', '{"password":"[redacted]'],
  ])('%s: the secret of it is taken out, and what it stands in stays', async (_, text, expected) => {
    expect(await shown(text)).toBe(expected);
  });
});

describe('what only looks like a secret', () => {
  test.each([
    ...['class="sk-fading-circle-container-large"', 'task-1234567890-abcdefghijklmnopqrstuv', 'git commit 5e7f0c1'],
    ...['https://example.org:8080/a@b', 'mailto:ada@example.org', 'a bearer responsibilities', '"password": null'],
    ...['const token = getToken();', 'the token: a word', '-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----'],
    ...['{"tokens": "12", "password_hint": "dog"}', 'npm_config_registry', 'hf_hub_download', 'eyJ.eyJ.x', hex(40)],
    ...['pseudo-authorization', 'authorization failed', 'https://user@example.org/', 'AKIA', 'ghp_short'],
  ])('stays: %s', async text => {
    expect(await shown(text)).toBe(text);
  });
});

describe('long texts', () => {
  /** Beginnings of secrets, without end: each makes its pattern look at as much as it ever does. */
  const seeds = [
    ...[
      'a',
      '-',
      '-----',
      'eyJ',
      'eyJaaaaaaaa.',
      'eyJaaaaaaaa.eyJaaaaaaaa',
      'sk-',
      'sk-a',
      '-----BEGIN PRIVATE KEY-----',
    ],
    ...['A ', '://', '://a:b', 'authorization: a ', 'bearer a', '"', '"password":"\\', '\\"', 'glpat-', 'SG.', '1'],
  ];

  // Patterns that looked at a text again from each place in it would need hours for these, and their test would be stopped.
  test.each(seeds)('are searched in time in proportion to their length: %s', async seed => {
    const text = seed.repeat(Math.ceil(2_000_000 / seed.length));
    const end = `\n${'ghp'}_${some(36)}`;

    expect(String(await shown(text + end)).endsWith('[redacted]')).toBe(true);
  });

  test.each([
    ...['"password":"', '-----BEGIN PRIVATE KEY-----', 'ghp_', 'eyJ', 'authorization: ', '://a:', 'AccountKey='],
  ])('that consist of one secret need no more room than the text: %s', async start => {
    const text = start + 'aB3\\'.repeat(1_000_000);

    expect(String(await shown(text)).length).toBeLessThanOrEqual(text.length);
  });
});
