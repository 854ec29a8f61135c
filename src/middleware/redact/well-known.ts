/**
 * What secrets of well-known services look like. Each shape is what its issuer says of it: a prefix, an alphabet, a length; lengths are taken
 * as lower bounds, since issuers make keys longer over time.
 *
 * Every pattern takes time in proportion to the text, and little room: nothing repeats without bound.
 */
export const WELL_KNOWN_PATTERNS: readonly RegExp[] = [
  // AWS access key ids: AKIA or ASIA, then 16 of base 32 (IAM user guide, "IAM identifiers").
  /\b(?:AKIA|ASIA)[A-Z2-7]{16}/,
  // GitHub tokens: ghp_, gho_, ghu_, ghs_, ghr_ and github_pat_ (GitHub docs, "About authentication to GitHub").
  /\b(?:gh[pousr]_|github_pat_)\w{20,4096}/,
  // GitLab tokens: gl, what it is for, a hyphen, 20 or more (GitLab docs, "Token overview"). Newer ones go on after a dot.
  /\bgl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|ffct|oas)-[\w.-]{20,4096}/,
  // Slack tokens: xoxb-, xoxp- and others, xapp- (Slack docs, "Tokens").
  /\b(?:xox[a-z](?:\.xox[a-z])?|xapp)-[\w-]{10,4096}/,
  // OpenAI and Anthropic keys: sk-, sk-proj-, sk-ant- and so on, then at least 20 with a digit among them (their consoles).
  /\bsk-(?=[\w-]{0,64}\d)[\w-]{20,4096}/,
  // Stripe keys: sk_live_, rk_test_ and so on, and whsec_ for webhooks (Stripe docs, "API keys").
  /\b(?:[sr]k_(?:live|test)_|whsec_)[A-Za-z0-9+/]{16,4096}/,
  // Google API keys: AIza, then 35; OAuth tokens: ya29. (Google Cloud docs, "Using API keys"; Google's OAuth examples).
  /\bAIza[\w-]{35}/,
  /\bya29\.[\w.-]{20,4096}/,
  // npm tokens: npm_ and 36 (npm's announcement of the format). PyPI tokens: pypi- and a macaroon (PyPI help, "API tokens").
  /\b(?:npm_[A-Za-z0-9]{36}|pypi-AgE[\w-]{20,4096})/,
  // Hugging Face tokens: hf_ (Hugging Face docs, "User access tokens").
  /\bhf_[A-Za-z0-9]{30,4096}/,
  // SendGrid keys: SG., 22, a dot, 43 (SendGrid docs, "API keys").
  /\bSG\.[\w-]{22}\.[\w-]{43}/,
  // DigitalOcean tokens: dop_v1_, doo_v1_, dor_v1_ and 64 hexadecimal digits (DigitalOcean docs, "Personal access tokens").
  /\bdo[opr]_v1_[a-f0-9]{64}/,
  // Azure storage keys, in connection strings (Azure docs, "Configure Azure Storage connection strings").
  /\b(?:AccountKey|SharedAccessKey)=(?<secret>[A-Za-z0-9+/]{32,4096}={0,2})/,
  // JSON Web Tokens: three parts of base64url, of which the first two are JSON objects (RFC 7519).
  /(?<![\w-])eyJ[\w-]{8,8192}\.eyJ[\w-]{8,65536}\.[\w-]{0,8192}/,
  // Credentials of HTTP (RFC 9110, "Authorization"), and bearer tokens by themselves (RFC 6750) where a digit says that it is no word.
  /\b(?:proxy-)?authorization["']?\s{0,4}[:=]\s{0,4}["']?(?:[a-z]{1,20}\s{1,4})?(?<secret>[^\s"',;]{6,4096})/i,
  /\bbearer\s{1,4}(?=[A-Za-z._~+/=-]{0,64}\d)(?<secret>[\w.~+/=-]{16,4096})/i,
  // Passwords in URLs (RFC 3986, "User information").
  /:\/\/[^\s:@/?#]{0,128}:(?<secret>[^\s@/?#]{1,256})@/,
];

/** The names of members of JSON objects whose values are secrets. Case, spaces, dots, hyphens and underscores do not matter. */
export const WELL_KNOWN_NAMES: readonly string[] = [
  ...['password', 'passwd', 'pwd', 'passphrase', 'secret', 'credentials'],
  ...['api key', 'x api key', 'secret key', 'private key', 'access key', 'secret access key', 'aws secret access key'],
  ...['token', 'access token', 'refresh token', 'id token', 'auth token', 'bearer token', 'session token'],
  ...['client secret', 'authorization', 'proxy authorization', 'cookie', 'set cookie'],
];
