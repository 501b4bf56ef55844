// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.0;

import "openzeppelin-4/token/ERC20/presets/ERC20PresetFixedSupply.sol";
import "openzeppelin-4/token/ERC20/presets/ERC20PresetMinterPauser.sol";
import "openzeppelin-4/token/ERC20/extensions/ERC20Snapshot.sol";
import "openzeppelin-4/token/ERC721/presets/ERC721PresetMinterPauserAutoId.sol";
import "openzeppelin-4/token/ERC721/extensions/ERC721Royalty.sol";
import "openzeppelin-4/token/ERC1155/presets/ERC1155PresetMinterPauser.sol";

contract Oz4Erc20FixedSupply is ERC20PresetFixedSupply {
    constructor(address[] memory holders) ERC20PresetFixedSupply("Token", "T", 100 ether, holders[0]) {
        for (uint256 i = 1; i < holders.length; i++) _transfer(holders[0], holders[i], i * 10 ether + 1);
    }
}

contract Oz4Erc20MinterPauser is ERC20PresetMinterPauser {
    constructor(address[] memory holders) ERC20PresetMinterPauser("Token", "T") {
        for (uint256 i = 0; i < holders.length; i++) mint(holders[i], 2 ether + i);
    }
}

contract Oz4Erc20Snapshot is ERC20Snapshot {
    constructor(address[] memory holders) ERC20("Token", "T") {
        _snapshot();
        for (uint256 i = 0; i < holders.length; i++) _mint(holders[i], 3 ether + i);
    }
}

contract Oz4Erc721AutoId is ERC721PresetMinterPauserAutoId {
    constructor(address[] memory holders) ERC721PresetMinterPauserAutoId("Token", "T", "") {
        for (uint256 i = 0; i < holders.length * 3; i++) mint(holders[i / 3]);
    }
}

contract Oz4Erc721Royalty is ERC721Royalty {
    constructor(address[] memory holders) ERC721("Token", "T") {
        for (uint256 i = 0; i < holders.length * 3; i++) _mint(holders[i / 3], i * i);
        _mint(holders[0], type(uint256).max);
        _setDefaultRoyalty(holders[0], 100);
    }
}

contract Oz4Erc1155MinterPauser is ERC1155PresetMinterPauser {
    constructor(address[] memory holders) ERC1155PresetMinterPauser("") {
        for (uint256 i = 0; i < holders.length; i++) mint(holders[i], i + 1, 20 + i, "");
    }
}
