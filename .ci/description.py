"""Check what an index would show of a wheel: every link in the description is an address, pictures too.

python description.py dist/tapec-0.1.0-py3-none-any.whl    prints the version
"""

import re
import sys
import zipfile
from email import message_from_bytes

with zipfile.ZipFile(sys.argv[1]) as wheel:
    name = next(n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
    metadata = message_from_bytes(wheel.read(name))

text = metadata.get_payload()
links = re.findall(r"\]\(([^)]+)\)", text)
relative = [link for link in links if not link.startswith(("https://", "#"))]
urls = [line.partition(",")[0] for line in metadata.get_all("Project-URL")]
if relative or len(links) < 10:
    sys.exit(f"{len(links)} links in the description, of which an index cannot follow {relative}")
if urls != ["Documentation", "Source", "Changelog", "Issues"]:
    sys.exit(f"the addresses are those of {urls}")
print(metadata["Version"])
